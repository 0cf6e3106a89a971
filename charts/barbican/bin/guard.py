"""Keeps secrets out of the log and out of answers: `install()`, before the application.

Barbican quotes a value that does not match its schema, in the log with a traceback. The value may be a secret that its
user sent in a wrong form.
"""

from barbican.common import exception, validators


def install():
    valid = validators.ValidatorBase._assert_schema_is_valid

    def unquoted(self, json_data, schema_name):
        try:
            valid(self, json_data, schema_name)
        except exception.InvalidObject as error:
            name, why = error.invalid_property, "a value is not of the form that the API documents"
            raise exception.InvalidObject(schema=schema_name, reason=why, property=name) from None

    validators.ValidatorBase._assert_schema_is_valid = unquoted
