"""`etcd3` imports on the protobuf that is installed, and shares the process with others."""

import subprocess
import sys

import pytest
from google.protobuf import descriptor_pool

from dorm.etcd.requests import Ranges
from dorm.etcd.stubs import etcd3, etcdrpc

BARE_IMPORT = "import etcd3"
WITH_ANOTHER_LIBRARY = """
from google.protobuf import descriptor_pb2, descriptor_pool
other = descriptor_pb2.FileDescriptorProto(name="rpc.proto", package="etcdserverpb")
other.message_type.add(name="RangeRequest")
descriptor_pool.Default().AddSerializedFile(other.SerializeToString())
from dorm.etcd.stubs import etcdrpc
assert etcdrpc.RangeRequest(key=b"a").key == b"a"
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )


def test_the_bare_package_still_needs_the_repair() -> None:
    """When this fails, `dorm.etcd.schema` may go."""
    assert "TypeError" in run(BARE_IMPORT).stderr


def test_another_etcd_library_does_no_harm() -> None:
    """Two files named `rpc.proto` in one pool are a `TypeError`; ours has its own pool."""
    done = run(WITH_ANOTHER_LIBRARY)

    assert ("", 0) == (done.stderr, done.returncode)
    assert descriptor_pool.Default() is not etcdrpc.RangeRequest.DESCRIPTOR.file.pool


def test_messages_keep_their_bytes() -> None:
    """The wire format is that of etcd: field numbers and types as in its rpc.proto."""
    request = etcdrpc.RangeRequest(key=b"a", range_end=b"b", limit=5)

    assert b"\x0a\x01a\x12\x01b\x18\x05" == request.SerializeToString()


@pytest.mark.parametrize(
    ("message", "wire"),
    [
        (etcdrpc.WatchRequest(progress_request={}), b"\x1a\x00"),
        (etcdrpc.WatchCreateRequest(fragment=True), b"\x40\x01"),
        (etcdrpc.WatchResponse(fragment=True), b"\x38\x01"),
    ],
)
def test_what_etcd_added_since_is_there(message: object, wire: bytes) -> None:
    """Signs of life and fragments came with etcd 3.4; the package knows 3.3."""
    assert wire == message.SerializeToString()  # type: ignore[attr-defined]


def test_the_bare_builder_still_drops_the_limit() -> None:
    """When this fails, `dorm.etcd.requests.Ranges` may go."""
    bare = etcd3.Etcd3Client._build_get_range_request(Ranges(), "a", limit=5)

    assert 0 == bare.limit
    assert 5 == Ranges().request("a", limit=5).limit
