"""The declaration of the ingress: its certificate."""

from stackwright.api.services.kinds import ServiceSpec
from stackwright.services.context import Context
from stackwright.services.declaration import Certificate
from stackwright.services.ingress import SERVICE

FIELDS = {"ca_cert": "ca", "api_cert": "crt", "api_key": "key"}


def context(**settings):
    spec = ServiceSpec.model_validate({"release": "epoxy", "publicDomain": "cloud.example.org"})
    images = {"ingress": "example.org/ingress:1"}
    return Context("ingress", "openstack", spec, images, SERVICE.settings.model_validate(settings))


def test_without_a_certificate_of_the_user_every_name_below_the_domain_gets_one():
    wanted = Certificate("openstack-public-tls", ("*.cloud.example.org",), server_only=True)
    assert SERVICE.certificates(context()) == (wanted,)


def test_the_users_own_certificate_is_read_from_its_secret():
    def ref(key):
        return {"value_from": {"secret_key_ref": {"name": "mine", "key": key}}}

    made = SERVICE.certificates(context(public_endpoints={field: ref(key) for field, key in FIELDS.items()}))
    source = {"ca.crt": ("mine", "ca"), "tls.crt": ("mine", "crt"), "tls.key": ("mine", "key")}
    assert made == (Certificate("openstack-public-tls", source=source),)
