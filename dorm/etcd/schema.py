"""Import `etcd3` on any protobuf: its messages and stubs, built without its generated code.

The generated modules of `etcd3` 0.12.0 (`etcd3.etcdrpc.*_pb2`) need the Python API of protobuf 3
and raise `TypeError` on protobuf 4 and later. The schema they carry is fine: a serialized
descriptor as one string literal. So that literal is read out of the installed source files, without
running them, and the message classes are made from it by the protobuf that is installed.

Why not the other ways: the pure-Python protobuf (an environment variable) would slow down every
user of protobuf in the process and must be set before anyone imports it; regenerated code checks
the version of its own runtime and would be third-party code in this repository; a table of all
messages by hand would be a second truth.

The descriptors go into a pool of their own, so another etcd library in the same process, with
its own `rpc.proto`, does no harm.
"""

import ast
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
)

FILES: Final = ("kv", "auth", "rpc")  # in the order of their imports
PACKAGE: Final = "etcd3.etcdrpc"


def install() -> None:
    """Put the messages and stubs where `etcd3` imports them from. Call before importing it."""
    if PACKAGE in sys.modules:
        return
    module = _build()
    for name in ("", ".rpc_pb2", ".rpc_pb2_grpc", ".kv_pb2", ".auth_pb2"):
        sys.modules[PACKAGE + name] = module


def _build() -> ModuleType:
    """Return a module with every message class, enum value and stub of etcd's API."""
    pool = descriptor_pool.DescriptorPool()
    module = ModuleType(PACKAGE)
    module.__path__ = []  # `etcd3` imports it as a package
    for name in FILES:
        proto = _installed_descriptor(name)
        if name == "rpc":
            _add_fields_of_etcd_3_4(proto)
        pool.AddSerializedFile(proto.SerializeToString())
        described = pool.FindFileByName(proto.name)
        for attribute, value in _contents(described, proto):
            setattr(module, attribute, value)
    return module


def _installed_descriptor(name: str) -> FileDescriptorProto:
    """Return the schema in `<name>_pb2.py` of the installed package."""
    spec = importlib.util.find_spec("etcd3")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("the package etcd3 is not installed (pip install etcd3==0.12.0)")
    path = Path(spec.submodule_search_locations[0], "etcdrpc", f"{name}_pb2.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.keyword(
                arg="serialized_pb", value=ast.Call(args=[ast.Constant(value=str(literal))])
            ):
                return FileDescriptorProto.FromString(literal.encode("latin1"))
            case _:
                continue
    raise ImportError(f"{path} holds no descriptor: Dorm needs etcd3 0.12.0 exactly")


def _add_fields_of_etcd_3_4(rpc: FileDescriptorProto) -> None:
    """Add what Dorm uses of etcd 3.4; the schema in `etcd3` is that of etcd 3.3.

    Source: api/etcdserverpb/rpc.proto of etcd.
    """
    messages = {message.name: message for message in rpc.message_type}
    rpc.message_type.add(name="WatchProgressRequest")
    progress = _add_field(messages["WatchRequest"], "progress_request", 3)
    progress.type = FieldDescriptorProto.TYPE_MESSAGE
    progress.type_name = ".etcdserverpb.WatchProgressRequest"
    progress.oneof_index = 0
    _add_field(messages["WatchCreateRequest"], "fragment", 8).type = FieldDescriptorProto.TYPE_BOOL
    _add_field(messages["WatchResponse"], "fragment", 7).type = FieldDescriptorProto.TYPE_BOOL
    status = messages["StatusResponse"]
    errors = _add_field(status, "errors", 8)
    errors.type, errors.label = (
        FieldDescriptorProto.TYPE_STRING,
        FieldDescriptorProto.LABEL_REPEATED,
    )
    for name, number in (("dbSizeInUse", 9), ("dbSizeQuota", 12)):  # the second since etcd 3.6
        _add_field(status, name, number).type = FieldDescriptorProto.TYPE_INT64


def _add_field(message: DescriptorProto, name: str, number: int) -> FieldDescriptorProto:
    return message.field.add(
        name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL, json_name=name
    )


def _contents(file: FileDescriptor, proto: FileDescriptorProto) -> Iterator[tuple[str, object]]:
    """Yield what generated code for the file would define."""
    for name, message in file.message_types_by_name.items():
        yield name, message_factory.GetMessageClass(message)
    for enum in file.enum_types_by_name.values():
        for value in enum.values:
            yield value.name, value.number
    for service in proto.service:
        described = file.services_by_name[service.name]
        yield f"{service.name}Stub", _stub(described, tuple(service.method))


def _stub(service: ServiceDescriptor, methods: tuple[MethodDescriptorProto, ...]) -> type:
    """Return a stub class that works on blocking and on asyncio channels alike."""

    def __init__(self: object, channel: Any) -> None:  # noqa: N807, ANN401 - two kinds of channel
        for method in methods:
            described = service.methods_by_name[method.name]
            setattr(
                self,
                method.name,
                _kind(channel, method)(
                    f"/{service.full_name}/{method.name}",
                    request_serializer=_message(described.input_type).SerializeToString,
                    response_deserializer=_message(described.output_type).FromString,
                ),
            )

    return type(f"{service.name}Stub", (), {"__init__": __init__})


def _kind(channel: Any, method: MethodDescriptorProto) -> Callable[..., object]:  # noqa: ANN401 - as above
    sends = "stream" if method.client_streaming else "unary"
    answers = "stream" if method.server_streaming else "unary"
    kind: Callable[..., object] = getattr(channel, f"{sends}_{answers}")
    return kind


def _message(descriptor: Any) -> Any:  # noqa: ANN401 - a message class of the private pool
    return message_factory.GetMessageClass(descriptor)
