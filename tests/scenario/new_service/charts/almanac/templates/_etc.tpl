{{- define "almanac.etc" -}}
almanac.conf: {{ include "lib.oslo_conf" .Values.conf.almanac | toJson }}
{{- end }}
