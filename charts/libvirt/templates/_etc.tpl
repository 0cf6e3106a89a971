{{- define "libvirt.etc" -}}
libvirtd.conf: {{ include "libvirt.conf" .Values.conf.libvirtd | toJson }}
qemu.conf: {{ include "libvirt.conf" .Values.conf.qemu | toJson }}
{{- end }}

{{/* libvirt.conf: {option: value} in libvirt's format: quoted texts, booleans as 1 and 0, lists in brackets. null omits the option. */}}
{{- define "libvirt.conf" -}}
{{- range $name, $value := . }}
{{- $option := include "lib.oslo_conf.name" (list "option" $name) }}
{{- if kindIs "bool" $value }}{{ $option }} = {{ ternary 1 0 $value }}
{{ else if kindIs "float64" $value }}{{ $option }} = {{ include "lib.scalar" $value }}
{{ else if not (kindIs "invalid" $value) }}{{ $option }} = {{ $value | toJson }}
{{ end }}
{{- end }}
{{- end }}
