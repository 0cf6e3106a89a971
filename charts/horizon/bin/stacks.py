"""Bounds what a template of a stack can cause in Horizon, whose panel reads it before Heat does: `install()`.

The panel would fetch any address in the network of the cloud: that of a template, and those that a template names. Only
code for templates uses urllib in Horizon. Aliases are bounded (aliases.py).
"""

import urllib.request

import aliases
from heatclient.common import template_format

FETCH = "templates and files in them are not fetched by URL; send them with the openstack command"


def refuse(url, *more, **options):
    raise ValueError(FETCH)


def install():
    urllib.request.urlopen = refuse
    template_format.yaml_loader = aliases.bounded(template_format.yaml_loader)
