{{/* Configuration files. Keys are sorted by Helm, so equal values make equal text. */}}

{{/*
lib.oslo_conf: {SECTION: {option: value}} to INI as oslo.config reads it. A list is joined by commas,
{type: multistring, values: [...]} becomes one line a value, null leaves the option out. DEFAULT comes first.
*/}}
{{- define "lib.oslo_conf" -}}
{{- with .DEFAULT }}{{ include "lib.oslo_conf.section" (list "DEFAULT" .) }}{{ end }}
{{- range $name, $options := omit . "DEFAULT" }}{{ include "lib.oslo_conf.section" (list $name $options) }}{{ end }}
{{- end }}

{{- define "lib.oslo_conf.section" -}}
[{{ index . 0 }}]
{{ range $option, $value := index . 1 }}
{{- if kindIs "map" $value }}
{{- if ne $value.type "multistring" }}{{ fail (printf "option %s: type %s is unknown, use multistring" $option $value.type) }}{{ end }}
{{- range $value.values }}{{ $option }} = {{ include "lib.scalar" . }}
{{ end }}
{{- else if not (kindIs "invalid" $value) }}{{ $text := include (ternary "lib.comma" "lib.scalar" (kindIs "slice" $value)) $value -}}
{{ printf "%s = %s" $option $text | trimSuffix " " }}
{{ end }}
{{- end }}
{{ end }}

{{/* lib.scalar: a number is never written as 1e+06, which is how Helm holds numbers. */}}
{{- define "lib.scalar" -}}
{{- if kindIs "float64" . }}{{ if eq (floor .) . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- define "lib.comma" -}}
{{- range $i, $value := . }}{{ if $i }},{{ end }}{{ include "lib.scalar" $value }}{{ end }}
{{- end }}

{{/* lib.dotted (prefix, {a: {b: 1}}) to lines "a.b = 1". */}}
{{- define "lib.dotted" -}}
{{- $prefix := index . 0 }}
{{- range $key, $value := index . 1 }}
{{- if kindIs "map" $value }}{{ include "lib.dotted" (list (printf "%s%s." $prefix $key) $value) }}
{{- else if not (kindIs "invalid" $value) }}{{ $prefix }}{{ $key }} = {{ include "lib.scalar" $value }}
{{ end }}
{{- end }}
{{- end }}

{{/* lib.configmap_name (root, suffix) */}}
{{- define "lib.configmap_name" -}}
{{ include "lib.name" (index . 0) }}-{{ index . 1 }}{{ include "lib.suffix" (index . 0) }}
{{- end }}

{{/* lib.configmap (root, suffix, data): the ConfigMap <name>-<suffix>. */}}
{{- define "lib.configmap" -}}
{{- $root := index . 0 -}}
{{- $suffix := index . 1 -}}
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "lib.metadata" (list $root $suffix (include "lib.configmap_name" (list $root $suffix))) | nindent 2 }}
data:
  {{- toYaml (index . 2) | nindent 2 }}
{{- end }}

{{/* lib.configmap_etc (root, template): the files that the template names, as YAML {file: text}. */}}
{{- define "lib.configmap_etc" -}}
{{- $root := index . 0 -}}
{{- include "lib.configmap" (list $root "etc" (include (index . 1) $root | fromYaml)) }}
{{- end }}

{{/* lib.configmap_bin (root): all scripts of the chart's folder bin/, as they are. */}}
{{- define "lib.configmap_bin" -}}
{{- $files := dict }}
{{- range $path, $text := .Files.Glob "bin/*" }}{{ $_ := set $files (base $path) (toString $text) }}{{ end }}
{{- include "lib.configmap" (list . "bin" $files) }}
{{- end }}
