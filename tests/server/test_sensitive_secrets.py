"""Keys, passwords and addresses, and the many sentences that only speak of them."""

from __future__ import annotations

import pytest

from recalld.server.sensitive_class import SensitiveClass
from recalld.server.sensitive_secrets import find_addresses, find_secrets, is_random

RANDOM = "Zq8Lm2Xv7Rt4Kp9Wn3Ys6Hd1"


def secrets(text: str) -> list[tuple[str, SensitiveClass]]:
    """Parts and classes, in order, each once."""
    findings = sorted(set(find_secrets(text)), key=lambda f: (f.start, f.end))
    return [(text[f.start : f.end], f.sensitive_class) for f in findings]


@pytest.mark.parametrize(
    "key",
    [
        f"sk-{RANDOM}",
        f"sk-proj-{RANDOM}",
        "AKIAIOSFODNN7EXAMPLE",
        f"ghp_{RANDOM}{RANDOM[:12]}",
        f"github_pat_{RANDOM}",
        f"glpat-{RANDOM}",
        f"xoxb-123456789012-{RANDOM}",
        f"AIza{RANDOM}{RANDOM[:11]}",
        f"hf_{RANDOM}{RANDOM[:10]}",
        f"sk_live_{RANDOM}",
        "LTAI5tExample1234567",
        f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{RANDOM}",
    ],
)
@pytest.mark.parametrize("frame", ["{}", "用{}登录", "put {} there, please", '"{}",'])
def test_a_key_is_known_by_its_form(key: str, frame: str) -> None:
    """Keys of known issuers are found without any word."""
    assert secrets(frame.format(key)) == [(key, SensitiveClass.API_KEY)]


@pytest.mark.parametrize(
    "text",
    [
        f"api_key = {RANDOM}",
        f"OPENAI_API_KEY={RANDOM}",
        f'"client_secret": "{RANDOM}"',
        f"token: {RANDOM}",
        f"令牌是{RANDOM}",
        f"密钥：{RANDOM}".replace("：", ":"),
        f"key={RANDOM}",
        f"Authorization: Bearer {RANDOM}",
    ],
)
def test_a_random_value_that_is_called_a_key_is_one(text: str) -> None:
    """An assignment to a word for keys is found when its value is random enough."""
    assert (RANDOM, SensitiveClass.API_KEY) in secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "key: location.home",
        "sort key = created_at_2026",
        "token budget is 600",
        "token: null",
        "api_key=${API_KEY}",
        "the key is 550e8400-e29b-41d4-a716-446655440000",
        "the secret ingredient is cinnamon",
        "commit 3f9a2c1b4d5e6f708192a3b4c5d6e7f801234567",
        "sk-learn-is-a-library-for-machine-learning",
    ],
)
def test_speaking_of_keys_tells_none(text: str) -> None:
    """Names, budgets, variables, ids and hashes are no keys."""
    assert secrets(text) == []


def test_randomness_needs_digits_letters_and_variety() -> None:
    """Words, numbers and repeated characters are not random; a bare `key` asks for more."""
    assert is_random("a1b2c3d4e5f60718", is_bare=False)
    assert not is_random("a1b2c3d4e5f60718", is_bare=True)
    assert is_random(RANDOM, is_bare=True)
    for value in ("correcthorsebattery", "123456789012", "aaaaaaaaaaaa1"):
        assert not is_random(value, is_bare=False)


@pytest.mark.parametrize("tail", ["\n-----END RSA PRIVATE KEY-----", ""])
def test_a_private_key_is_found_to_its_end(tail: str) -> None:
    """A PEM block is one finding; one that was cut off reaches to the end."""
    block = f"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n{RANDOM}{tail}"
    assert (block, SensitiveClass.API_KEY) in secrets(f"here:\n{block}")
    assert secrets("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----") == []


@pytest.mark.parametrize(
    ("text", "password"),
    [
        ("my password is hunter2", "hunter2"),
        ("My password is hunter2.", "hunter2"),
        ("the wifi password is Sunny-River-42, guests may use it", "Sunny-River-42"),
        ("password: s3cret!x", "s3cret!x"),
        ("db_password=pa$$w0rd", "pa$$w0rd"),
        ('my password is "correct horse battery"', "correct horse battery"),
        ("Password for the NAS at home is 739164", "739164"),
        ("the password is swordfish.", "swordfish"),
        ("he changed his password to 739164", "739164"),
        ("use hunter22 as my password", "hunter22"),
        ("my PIN is 4821", "4821"),
        ("verification code: 482913", "482913"),
        ("密码是abc123，别忘了", "abc123"),
        ("WiFi密码：12345678".replace("：", ":"), "12345678"),
        ("我的登录密码改成Panda@88了", "Panda@88"),
        ("开机密码 是 739164 ，别外传", "739164"),
        ("abc12345是我的邮箱密码", "abc12345"),
        ("验证码是482913", "482913"),
        ("密码「芝麻开门」", ""),
        ("密码是「芝麻开门」", "芝麻开门"),
        ("支付宝密码123456", "123456"),
        ("验证码 482913，5分钟内有效", "482913"),
        ("ssh password for root@10.0.0.1 is toor1234", "toor1234"),
        ("login ann, pass: Blue7Sky!", "Blue7Sky"),
        ("pw=Blue7Sky", "Blue7Sky"),
        ("postgres://ann:s3cret@db/x", "s3cret"),
    ],
)
def test_a_told_password_is_found(text: str, password: str) -> None:
    """The password of a sentence is found, without the marks around it."""
    assert secrets(text) == ([(password, SensitiveClass.PASSWORD)] if password else [])


@pytest.mark.parametrize(
    "text",
    [
        "my password is wrong",
        "The password has expired.",
        "the password is too short",
        "password reset was sent",
        "password policy: 8-16 characters",
        "my password manager is Bitwarden",
        "password: <ask Maria>",
        "password: [password]",
        "pass: 12/15 tests",
        "密码2026年更新过",
        "password: ${DB_PASSWORD}",
        "we need your password to test the drive",
        "the password is hashed with sha256",
        "the PIN was rejected three times",
        "密码忘了",
        "密码是6-16位字母加数字",
        "密码是谁设的",
        "他的密码管理器是1Password",
        "密码是SHA256加密的",
        "验证码没收到",
        "https://example.org:8080/a@b",
    ],
)
def test_speaking_of_passwords_tells_none(text: str) -> None:
    """Complaints, rules, managers and placeholders are no passwords."""
    assert secrets(text) == []


@pytest.mark.parametrize(
    "address",
    [
        "li.wei@163.com",
        "ana+shop@example.co.uk",
        "12345678@qq.com",
        "bob (at) example (dot) com",
        "bob[at]example.org",
        "bob @ example.com",
    ],
)
@pytest.mark.parametrize("frame", ["{}", "发到{}就行", "Write to {}.", "<{}>"])
def test_an_address_is_found(address: str, frame: str) -> None:
    """Addresses are found as they are typed and as they are spelled."""
    text = frame.format(address)
    assert [text[f.start : f.end] for f in find_addresses(text)] == [address]


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:acme/tools.git",
        "react@18.2.0",
        "x@1.2.beta",
        "@channel",
        "a@b",
        "we met @ Jo",
    ],
)
def test_other_signs_are_no_address(text: str) -> None:
    """Remotes, versions and mentions stay."""
    assert list(find_addresses(text)) == []
