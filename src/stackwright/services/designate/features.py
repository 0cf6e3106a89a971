"""The features of the DNS service, and facts about the surrounding cloud."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from stackwright.api.fields.naming import Format, InstanceName
from stackwright.api.fields.network import Address
from stackwright.api.meta import Model
from stackwright.services.context import Settings

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
# As in a zone's file, but the final point may be missing.
ServerName = Annotated[str, Format(rf"({_LABEL}\.)+{_LABEL}\.?", 254, "must be a DNS name with at least two labels")]


class DesignateBackend(Model):
    type: Literal["powerdns"] = Field("powerdns", description="The name server.")
    protocol: Literal["udp", "tcp", "tcp+udp"] = Field(
        "tcp+udp", description="Protocols of the LoadBalancer; only with external_ip."
    )
    external_ip: Address | None = Field(
        None, description="Address of a Service of type LoadBalancer for clients outside of the cluster; default: none."
    )
    on_nodes: bool = Field(
        False, description="Answer on port 53 of the nodes that run a name server, too. The field is ours."
    )
    name_servers: list[ServerName] = Field(
        default_factory=list,
        max_length=13,
        description="Names in the NS records of all zones; default: ns1.<public_domain_name>. The field is ours.",
    )

    @model_validator(mode="after")
    def _has_a_service(self) -> DesignateBackend:
        if self.external_ip is None and "protocol" in self.model_fields_set and self.protocol != "tcp+udp":
            raise ValueError("protocol: only with external_ip; inside of the cluster, both protocols are available")
        if len({name.rstrip(".") for name in self.name_servers}) < len(self.name_servers):
            raise ValueError("name_servers: names must differ")
        return self


class DesignateFeatures(Model):
    backend: DesignateBackend = Field(default_factory=DesignateBackend, description="The name servers.")


class DesignateSettings(DesignateFeatures, Settings):
    """features.designate."""

    messaging_instance: InstanceName = Field("rabbitmq", description="Name of the RabbitMQ object.")
