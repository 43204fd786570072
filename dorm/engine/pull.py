"""Getting an image, and telling one that does not exist from a registry that is away."""

import json
from http import HTTPStatus
from typing import Final

from docker import APIClient, auth
from docker.utils import parse_repository_tag

from dorm.ports.docker import NotPulled, Unrunnable

SILENCE_S: Final = 120.0
_HOPELESS: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
_HINT: Final = "load the image on every node, or name one that the registry has"


def pull(client: APIClient, image: str) -> None:
    """Have the engine pull an image.

    Not by the client's own `pull`: that waits for ever, and hears nothing of an error that comes
    after the first byte.

    Raises:
        Unrunnable: The registry, or the engine, says that there is no such image.
        NotPulled: Anything else, in the engine's words.
    """
    repository, tag = parse_repository_tag(image)
    registry, _ = auth.resolve_repository_name(repository)
    login = auth.get_config_header(client, registry)
    with client.post(
        f"{client.base_url}/v{client.api_version}/images/create",
        params={"fromImage": repository, "tag": tag or "latest"},
        headers={"X-Registry-Auth": login} if login else {},
        stream=True,
        timeout=SILENCE_S,
    ) as answer:
        if answer.status_code in _HOPELESS:
            raise Unrunnable(
                f"is not on this node and could not be pulled: {_words(answer.content)}",
                field="image",
                value=image,
                hint=_HINT,
            )
        if answer.status_code >= HTTPStatus.BAD_REQUEST:
            raise NotPulled(_words(answer.content))
        for line in answer.iter_lines():
            if error := json.loads(line).get("error"):
                raise NotPulled(" ".join(str(error).split()))


def _words(raw: bytes) -> str:
    try:
        return " ".join(str(json.loads(raw)["message"]).split())
    except (ValueError, KeyError, TypeError):
        return raw.decode(errors="replace")[:200]
