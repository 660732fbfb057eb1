"""What strangers may send below the contract: the server stays up, small, and serves the others."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from recalld.client.testing import RunningServer, running_server
from recalld.server.limits import (
    MESSAGE_BYTES_MAX,
    METADATA_BYTES_MAX,
    REQUEST_PART_COUNT_MAX,
    RESPONSE_BYTES_MAX,
    STREAM_COUNT_MAX,
)
from recalld.v1 import memory_service_pb2, recall_service_pb2
from tests.server.core import memory, remember_request, scope
from tests.server.stubs import TIMEOUT_S, Stubs, refusal_of

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
IDLE_COUNT = 1_000
GROWTH_KB_MAX = 256 * 1024
CHANNELS = recall_service_pb2.RecallRequest.DESCRIPTOR.fields_by_name["channels"].number
CODE = grpc.StatusCode


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as made, Stubs(made.target) as stubs:
        stubs.memory.Remember(remember_request("ada", memory("green tea", key="drink")))
        yield made


@pytest.fixture
def others(server: RunningServer) -> Iterator[Stubs]:
    """A caller of good manners, who is served before and after; and the server has not grown."""
    before_kb = peak_kb(server)
    with Stubs(server.target) as stubs:
        assert_served(stubs)
        yield stubs
        assert_served(stubs)
    assert server.process.poll() is None
    assert peak_kb(server) - before_kb < GROWTH_KB_MAX


def assert_served(stubs: Stubs) -> None:
    """A recall on this and on a fresh connection is answered."""
    request = recall_service_pb2.RecallRequest(scope=scope("ada"), text="tea")
    assert stubs.recall.Recall(request, timeout=TIMEOUT_S).hits


def peak_kb(server: RunningServer) -> int:
    """The most memory the server ever had resident, as the kernel counts it."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def connected(server: RunningServer) -> socket.socket:
    """A bare connection."""
    host, _, port = server.target.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=TIMEOUT_S)


def nested(depth: int) -> bytes:
    """The bytes of a Remember whose value is nested so deep."""
    value = b""
    for _ in range(depth):
        value = field(1, field(1, b"k") + field(2, field(5, value)))
    return field(1, field(1, b"ada")) + field(2, field(1, field(3, b"tea") + field(5, value)))


def field(number: int, content: bytes) -> bytes:
    """One length-delimited field."""
    length, head = len(content), bytearray([number << 3 | 2])
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*head, length]) + content


def padded(size: int) -> bytes:
    """A recall of exactly so many bytes, most of them in a field that nobody knows."""
    body = recall_service_pb2.RecallRequest(scope=scope("ada"), text="tea").SerializeToString()
    unknown = b"\xfa\x3e"  # field 1007, length-delimited
    length = size - len(body) - len(unknown) - 4
    return body + unknown + field(0, b"\0" * length)[1:]


def test_message_of_the_largest_size(others: Stubs) -> None:
    """A message of exactly the limit is answered, one byte more is refused with a status."""
    largest = padded(MESSAGE_BYTES_MAX)
    assert len(largest) == MESSAGE_BYTES_MAX
    others.raw("RecallService/Recall", largest)
    refusal = refusal_of(others.raw, "RecallService/Recall", largest + b"\0")
    assert refusal.code == CODE.RESOURCE_EXHAUSTED
    assert str(MESSAGE_BYTES_MAX) in refusal.message


def test_compressed_bomb(server: RunningServer, others: Stubs) -> None:
    """A message that unpacks to 100 MiB is refused, whatever its size on the wire."""
    options = (("grpc.max_send_message_length", -1),)
    with grpc.insecure_channel(server.target, options, grpc.Compression.Gzip) as channel:
        call = channel.unary_unary("/recalld.v1.RecallService/Recall")
        refusal = refusal_of(call, b"\0" * (100 << 20))
    assert refusal.code == CODE.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("depth", [9, 40, 5_000])
def test_deep_value(others: Stubs, depth: int) -> None:
    """A value nested deeper than the limit is refused as a bad request."""
    refusal = refusal_of(others.raw, "MemoryService/Remember", nested(depth))
    assert refusal.code == CODE.INVALID_ARGUMENT
    assert refusal.reason == "INVALID_FIELD"


@pytest.mark.parametrize("part", [b"\x12\x00", b"\x12\x02\x0a\x00", field(2, b"\x0a\x02\x3a\x00")])
def test_very_long_list(others: Stubs, part: bytes) -> None:
    """Millions of empty memories in one message are refused before they become objects."""
    body = field(1, field(1, b"ada")) + part * (8_000_000 // len(part))
    refusal = refusal_of(others.raw, "MemoryService/Remember", body)
    assert refusal.code == CODE.INVALID_ARGUMENT
    assert str(REQUEST_PART_COUNT_MAX) in refusal.message


def test_very_long_list_of_numbers(others: Stubs) -> None:
    """Millions of numbers, packed into a byte each, are refused before anybody looks at each."""
    body = padded(100) + field(CHANNELS, b"\1" * 8_000_000)
    refusal = refusal_of(others.raw, "RecallService/Recall", body)
    assert refusal.code == CODE.INVALID_ARGUMENT
    assert str(REQUEST_PART_COUNT_MAX) in refusal.message


def test_large_metadata(others: Stubs) -> None:
    """Metadata over the limit are refused."""
    call = others.channel.unary_unary("/recalld.v1.RecallService/Recall")
    metadata = [("x-request-id", "x" * 2 * METADATA_BYTES_MAX)]
    assert refusal_of(call, b"", metadata=metadata).code == CODE.RESOURCE_EXHAUSTED


def test_many_idle_connections(server: RunningServer, others: Stubs) -> None:
    """A thousand connections that were opened and say nothing more keep nobody out."""
    with ExitStack() as stack:
        for _ in range(IDLE_COUNT):
            stack.enter_context(connected(server)).sendall(PREFACE + SETTINGS)
        with Stubs(server.target) as newcomer:
            assert_served(newcomer)


def test_half_open_connections(server: RunningServer, others: Stubs) -> None:
    """Connections that never begin to speak HTTP/2 keep nobody out."""
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(connected(server)).sendall(PREFACE[:5])
        with Stubs(server.target) as newcomer:
            assert_served(newcomer)


@pytest.mark.parametrize(
    "spoken",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 512,
        PREFACE + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + b"\0" * 4096,
        PREFACE + SETTINGS + b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00",
        PREFACE + SETTINGS + b"\x00\x00\x08\x01\x05\x00\x00\x00\x02" + b"\xff" * 8,
    ],
    ids=["http1", "tls", "huge_frame", "window_of_zero", "even_stream"],
)
def test_bad_http2(server: RunningServer, others: Stubs, spoken: bytes) -> None:
    """Whoever does not speak HTTP/2, or speaks it badly, is cut off."""
    with connected(server) as stranger:
        stranger.sendall(spoken)
        try:
            while stranger.recv(65_536):
                pass
        except ConnectionResetError:
            pass


def test_slow_sender(server: RunningServer, others: Stubs) -> None:
    """A call whose message never arrives in full holds up nobody else."""
    with ExitStack() as stack:
        for _ in range(STREAM_COUNT_MAX):
            stack.enter_context(connected(server)).sendall(
                PREFACE + SETTINGS + headers_frame() + b"\x00\x00\x09\x00\x00\x00\x00\x00\x01"
            )
        with Stubs(server.target) as newcomer:
            assert_served(newcomer)


def headers_frame() -> bytes:
    """The first frame of a Recall, its headers written out without compression."""

    def literal(name: bytes, value: bytes) -> bytes:
        return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value

    block = b"".join(
        literal(name, value)
        for name, value in (
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", b"/recalld.v1.RecallService/Recall"),
            (b":authority", b"x"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        )
    )
    return len(block).to_bytes(3, "big") + b"\x01\x04\x00\x00\x00\x01" + block


def remember_large(stubs: Stubs, user: str, count: int) -> None:
    """Memories of 16 KB each, most of it metadata."""
    contents = [memory(f"note {i}") for i in range(count)]
    for one in contents:
        one.metadata["filler"] = "x" * 16_000
    stubs.memory.Remember(remember_request(user, *contents), timeout=TIMEOUT_S)


def test_slow_reader(server: RunningServer, others: Stubs) -> None:
    """Streams of answers that are not read hold up nobody, and are not held in memory."""
    remember_large(others, "slow-reader", 64)
    request = memory_service_pb2.ExportMemoriesRequest(scope=scope("slow-reader"))
    with Stubs(server.target) as reader:
        streams = [reader.memory.ExportMemories(request, timeout=TIMEOUT_S) for _ in range(50)]
        for stream in streams:
            assert next(stream) is not None
        assert_served(others)
        for stream in streams:
            stream.cancel()


def test_answers_fit_the_default_of_clients(others: Stubs) -> None:
    """More memories than fit an answer come in several, each below 4 MiB."""
    remember_large(others, "large", 250)
    request = memory_service_pb2.ListMemoriesRequest(scope=scope("large"), page_size=1_000)
    page = others.memory.ListMemories(request, timeout=TIMEOUT_S)
    assert page.ByteSize() <= RESPONSE_BYTES_MAX
    assert page.next_page_token
