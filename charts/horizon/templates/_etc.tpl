{{/* Settings are written and read as JSON (bin/local_settings.py), so no value can become code. */}}
{{- define "horizon.etc" -}}
settings.json: {{ .Values.conf.horizon | mustToPrettyJson | toJson }}
horizon-uwsgi.ini: {{ include "lib.oslo_conf" .Values.conf.horizon_uwsgi | toJson }}
{{- end }}
