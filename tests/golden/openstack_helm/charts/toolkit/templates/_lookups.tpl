{{/* Values looked up as the published charts do it. Every template takes a list: the root context first. */}}

{{/* pick (map or single value, key): the key's own value, else that of "default". */}}
{{- define "toolkit.pick" -}}
{{- $found := index . 0 }}
{{- if kindIs "map" $found }}{{ $found = get $found (index . 1) | default $found.default }}{{ end }}
{{- if kindIs "map" $found }}{{ $found = $found.host }}{{ end }}
{{- $found | default "" }}
{{- end }}

{{/* host (root, endpoint type, interface) */}}
{{- define "toolkit.host" -}}
{{- $root := index . 0 }}
{{- $e := index $root.Values.endpoints (index . 1) }}
{{- $short := include "toolkit.pick" (list $e.hosts (index . 2)) }}
{{- $inside := printf "%s.%s.svc.%s" $short (get $e "namespace" | default $root.Release.Namespace) $root.Values.endpoints.cluster_domain_suffix }}
{{- include "toolkit.pick" (list $e.host_fqdn_override (index . 2)) | default $inside }}
{{- end }}

{{/* port (root, endpoint type, interface, port name) */}}
{{- define "toolkit.port" -}}
{{- $e := index (index . 0).Values.endpoints (index . 1) }}
{{- include "toolkit.pick" (list (index $e.port (index . 3)) (index . 2)) }}
{{- end }}

{{/* url (root, endpoint type, interface, port name): without a port that its scheme implies */}}
{{- define "toolkit.url" -}}
{{- $e := index (index . 0).Values.endpoints (index . 1) }}
{{- $scheme := include "toolkit.pick" (list $e.scheme (index . 2)) }}
{{- $port := include "toolkit.port" . }}
{{- $implied := or (and (eq $scheme "http") (eq $port "80")) (and (eq $scheme "https") (eq $port "443")) }}
{{- $scheme }}://{{ include "toolkit.host" (list (index . 0) (index . 1) (index . 2)) }}
{{- if not $implied }}:{{ $port }}{{ end }}{{ include "toolkit.pick" (list $e.path (index . 2)) }}
{{- end }}

{{/* account (root, endpoint type, user, port name): an URL with the user's password out of the values */}}
{{- define "toolkit.account" -}}
{{- $e := index (index . 0).Values.endpoints (index . 1) }}
{{- $user := index $e.auth (index . 2) }}
{{- $e.scheme }}://{{ $user.username }}:{{ $user.password }}@{{ include "toolkit.host" (list (index . 0) (index . 1) "internal") }}:
{{- include "toolkit.port" (list (index . 0) (index . 1) "internal" (index . 3)) }}{{ $e.path }}
{{- end }}

{{/* ini (sections): values go in as Go prints them, so a large number becomes 1e+06, and a null "<no value>" */}}
{{- define "toolkit.ini" -}}
{{- range $section, $options := . }}
{{- if kindIs "map" $options }}[{{ $section }}]
{{ range $option, $value := $options }}
{{- if kindIs "slice" $value }}{{ $option }} = {{ join "," $value }}
{{ else if kindIs "map" $value }}
{{- if eq $value.type "multistring" }}{{ range $value.values }}{{ $option }} = {{ . }}
{{ end }}{{ else }}{{ $option }} = {{ join "," $value.values }}
{{ end }}
{{- else }}{{ $option }} = {{ $value }}
{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* file (root, text): a value that is a file of any content, with templates in it. Theirs takes only a text that ends a line. */}}
{{- define "toolkit.file" -}}
{{- $text := tpl (toYaml (index . 1)) (index . 0) }}
{{- if not (hasPrefix "|\n" $text) }}{{ fail "the published chart would write this text in another form" }}{{ end }}
{{- (printf "text: %s" $text | fromYaml).text }}
{{- end }}
