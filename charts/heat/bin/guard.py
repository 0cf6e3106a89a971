"""Bounds what a text of a template or an environment can cause in Heat: `install()`, before the program starts.

Templates by URL are not fetched: Heat would request any address in the network of the cloud, and quote the response in its
errors. Clients such as `openstack stack create` resolve nested templates themselves and send them as files.

Texts are checked before they are parsed (texts.py). This is Heat's only parser of such texts; its own would parse what
libyaml refuses a second time, with another loader.
"""

import texts
import yaml
from heat.common import environment_format, template_format, urlfetch

FETCH = "templates are not fetched by URL; send nested templates as files, as the openstack command does"


def template(text, url=None):
    """As heat.common.template_format.simple_parse."""
    try:
        found = texts.load(text, template_format.yaml_loader)
    except yaml.YAMLError as error:
        raise ValueError(f"Error parsing template {url or '[root stack]'} {error}") from None
    found = {} if found is None else found
    if not isinstance(found, dict):
        raise ValueError("The template is not a JSON object or YAML mapping.")
    return found


def environment(text):
    """As heat.common.environment_format.parse."""
    try:
        found = {} if text is None else texts.load(text, template_format.yaml_loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    found = {} if found is None else found
    if not isinstance(found, dict):
        raise ValueError("The environment is not a valid YAML mapping data type.")
    return environment_format.validate(found)


def install():
    fetch = urlfetch.get

    def local(url, allowed_schemes=("http", "https")):
        """Only files of Heat itself, where it permits them."""
        if "file" not in allowed_schemes or not url.startswith("file:"):
            raise urlfetch.URLFetchError(FETCH)
        return fetch(url, allowed_schemes=("file",))

    urlfetch.get = local
    template_format.simple_parse = template
    environment_format.parse = environment
