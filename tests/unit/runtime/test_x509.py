"""Keys and certificates: a client that trusts a CA accepts its certificates."""

import datetime

import pytest
from cryptography import x509 as library
from cryptography.hazmat.primitives import serialization
from cryptography.x509 import DNSName, IPAddress, SubjectAlternativeName
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store

from stackwright.runtime import x509

NOW = 1_750_000_000.0
DAY = 24 * 3600.0


@pytest.fixture(scope="module")
def issuer():
    return x509.authority("Stackwright openstack", NOW)


def load(pem):
    return library.load_pem_x509_certificate(pem.encode())


def test_a_client_that_trusts_the_ca_accepts_its_certificates(issuer):
    made, _ = x509.issue(issuer, ["*.cloud.example"], [], NOW)
    when = datetime.datetime.fromtimestamp(NOW + DAY, datetime.UTC)
    policy = PolicyBuilder().store(Store([load(issuer["ca.crt"])])).time(when)
    verifier = policy.build_server_verifier(DNSName("keystone.cloud.example"))
    assert len(verifier.verify(load(made["tls.crt"]), [])) == 2
    assert made["ca.crt"] == issuer["ca.crt"]
    with pytest.raises(library.verification.VerificationError):
        policy.build_server_verifier(DNSName("keystone.cloud.test")).verify(load(made["tls.crt"]), [])


def test_it_is_for_all_names_and_addresses_of_servers_and_clients(issuer):
    made, _ = x509.issue(issuer, ["node-1"], ["10.0.0.1", "fd00::1"], NOW)
    extensions = load(made["tls.crt"]).extensions
    names = extensions.get_extension_for_class(SubjectAlternativeName).value
    assert names.get_values_for_type(DNSName) == ["node-1"]
    assert [str(address) for address in names.get_values_for_type(IPAddress)] == ["10.0.0.1", "fd00::1"]
    usage = extensions.get_extension_for_class(library.ExtendedKeyUsage).value
    assert set(usage) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}


def test_its_subject_is_the_first_name_or_another_and_it_may_be_for_servers_only(issuer):
    made, _ = x509.issue(issuer, ["node-1"], [], NOW)
    assert load(made["tls.crt"]).subject.rfc4514_string() == "CN=node-1"
    made, _ = x509.issue(issuer, ["node-1"], [], NOW, "libvirt", server_only=True)
    own = load(made["tls.crt"])
    assert own.subject.rfc4514_string() == "CN=libvirt"
    assert set(own.extensions.get_extension_for_class(library.ExtendedKeyUsage).value) == {
        ExtendedKeyUsageOID.SERVER_AUTH
    }
    when = datetime.datetime.fromtimestamp(NOW + DAY, datetime.UTC)
    policy = PolicyBuilder().store(Store([load(issuer["ca.crt"])])).time(when)
    assert policy.build_server_verifier(DNSName("node-1")).verify(own, [])
    with pytest.raises(library.verification.VerificationError):
        policy.build_client_verifier().verify(own, [])


def test_the_key_is_that_of_the_certificate(issuer):
    made, _ = x509.issue(issuer, ["a"], [], NOW)
    key = serialization.load_pem_private_key(made["tls.key"].encode(), None)
    assert key.public_key() == load(made["tls.crt"]).public_key()


def test_it_ends_after_a_year_and_never_after_its_authority(issuer):
    made, end = x509.issue(issuer, ["a"], [], NOW)
    assert end == x509.ends(made["tls.crt"]) == NOW + 365 * DAY
    short = x509.authority("short", NOW, 10 * DAY)
    _, end = x509.issue(short, ["a"], [], NOW)
    assert end == NOW + 10 * DAY


def test_ssh_key_pairs_are_those_of_openssh_and_new_each_time():
    private, public = x509.ssh_keypair()
    loaded = serialization.load_ssh_private_key(private.encode(), None)
    told = serialization.load_ssh_public_key(public.encode())
    assert loaded.public_key() == told
    assert public.startswith("ssh-ed25519 ") and public.endswith("\n")
    assert x509.ssh_keypair()[0] != private
