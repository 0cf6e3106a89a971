{{- define "powerdns.etc" -}}
pdns.conf: {{ include "powerdns.conf" . | toJson }}
{{- end }}

{{/* include-dir: what start.sh writes. */}}
{{- define "powerdns.conf" -}}
{{- $port := .Values.endpoints.powerdns.port -}}
{{- $conf := dict "local-port" $port.dns.default "webserver-port" $port.api.default "include-dir" "/run/powerdns" -}}
{{- $conf = mergeOverwrite $conf (deepCopy .Values.conf.powerdns) -}}
{{- $_ := include "lib.once" $conf -}}
{{- range $option, $value := $conf }}
{{- if not (kindIs "invalid" $value) }}
{{- include "lib.oslo_conf.name" (list "option" $option) }}={{ include "lib.line" (list $option (include "lib.flat" (list $option $value))) }}
{{ end }}
{{- end }}
{{- end }}
