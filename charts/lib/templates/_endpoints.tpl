{{/* lib.endpoint_host (root, type, interface): the host name of a service for its clients. */}}
{{- define "lib.endpoint_host" -}}
{{- $root := index . 0 -}}
{{- $e := index $root.Values.endpoints (index . 1) -}}
{{- $own := include "lib.endpoint_value" (list $e.host_fqdn_override (index . 2)) -}}
{{- $host := include "lib.endpoint_value" (list $e.hosts (index . 2)) -}}
{{- $namespace := $e.namespace | default $root.Release.Namespace -}}
{{- $own | default (printf "%s.%s.svc.%s" $host $namespace $root.Values.endpoints.cluster_domain_suffix) }}
{{- end }}

{{/* lib.endpoint_url (root, type, interface, port name): scheme://host:port/path. */}}
{{- define "lib.endpoint_url" -}}
{{- $root := index . 0 -}}
{{- $interface := index . 2 -}}
{{- $e := index $root.Values.endpoints (index . 1) -}}
{{- $scheme := include "lib.endpoint_value" (list $e.scheme $interface) -}}
{{- $port := include "lib.endpoint_value" (list (index $e.port (index . 3)) $interface) -}}
{{- $standard := eq $port (ternary "443" "80" (eq $scheme "https")) -}}
{{- $scheme }}://{{ include "lib.endpoint_host" (list $root (index . 1) $interface) }}
{{- if not $standard }}:{{ $port }}{{ end }}{{ include "lib.endpoint_value" (list $e.path $interface) }}
{{- end }}

{{/* lib.endpoint_value ({default, internal, public, admin}, interface): the value of the interface, or the default. */}}
{{- define "lib.endpoint_value" -}}
{{- $values := index . 0 | default dict -}}
{{- $value := get $values (index . 1) -}}
{{- include "lib.scalar" ($value | default $values.default | default "") }}
{{- end }}
