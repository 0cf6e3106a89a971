{{/* Configuration files. Helm sorts keys, so equal values produce equal text. */}}

{{/*
lib.oslo_conf: {SECTION: {option: value}} to INI as oslo.config reads it. A list is joined by commas,
{type: multistring, values: [...]} becomes one line per value, null omits the option. DEFAULT is the first section.
*/}}
{{- define "lib.oslo_conf" -}}
{{- with .DEFAULT }}{{ include "lib.oslo_conf.section" (list "DEFAULT" .) }}{{ end }}
{{- range $name, $options := omit . "DEFAULT" }}{{ include "lib.oslo_conf.section" (list $name $options) }}{{ end }}
{{- end }}

{{/*
lib.uwsgi_conf (conf, module, ...): uWSGI's INI of {uwsgi: {option: value}}. With several workers, the master imports
the modules before it forks them (lib/bin/preload.py). A single worker has no other to share them with: the master's copy
would only use memory. `shared-import` in the values overrides this.
*/}}
{{- define "lib.uwsgi_conf" -}}
{{- $uwsgi := (index . 0).uwsgi -}}
{{- if gt (int $uwsgi.processes) 1 }}
{{- $uwsgi = merge (deepCopy $uwsgi) (dict "preload" (rest . | join " ") "shared-import" "/opt/stackwright/preload.py") }}
{{- end }}
{{- include "lib.oslo_conf" (merge (dict "uwsgi" $uwsgi) (index . 0)) }}
{{- end }}

{{- define "lib.oslo_conf.section" -}}
[{{ include "lib.oslo_conf.name" (list "section" (index . 0)) }}]
{{ include "lib.once" (index . 1) }}
{{- range $option, $value := index . 1 }}
{{- $option = include "lib.oslo_conf.name" (list "option" $option) }}
{{- if kindIs "map" $value }}
{{- if ne $value.type "multistring" }}{{ fail (printf "option %s: type %s is unknown, use multistring" $option $value.type) }}{{ end }}
{{- range $value.values }}{{ $option }} = {{ include "lib.line" (list $option (include "lib.flat" (list $option .))) }}
{{ end }}
{{- else if not (kindIs "invalid" $value) }}{{ $text := include (ternary "lib.comma" "lib.flat" (kindIs "slice" $value)) (list $option $value) -}}
{{ $text = include "lib.line" (list $option $text) }}
{{- printf "%s = %s" $option $text | trimSuffix " " }}
{{ end }}
{{- end }}
{{ end }}

{{/* lib.oslo_conf.name (what, name): the name of a section or an option; rejects names with another meaning in INI. */}}
{{- define "lib.oslo_conf.name" -}}
{{- $name := toString (index . 1) -}}
{{- if not (regexMatch `^[A-Za-z0-9_](?:[^\x00-\x1f\x7f\x{85}\x{2028}\x{2029}=\[\]]*[^\x00-\x20\x7f\x{85}\x{2028}\x{2029}=\[\]])?$` $name) }}
{{- fail (printf "%q is no name of an %s in a configuration file" $name (index . 0)) }}
{{- end }}
{{- $name }}
{{- end }}

{{/*
lib.line (option, text): a text of one line. The text after a line break would be another option or section. The message
does not repeat the text, which may be a secret.
*/}}
{{- define "lib.line" -}}
{{- if regexMatch `[\x00-\x08\x0a-\x1f\x7f\x{85}\x{2028}\x{2029}]` (index . 1) }}
{{- fail (printf "option %s: line breaks and control characters are not allowed in a value" (index . 0)) }}
{{- end }}
{{- index . 1 }}
{{- end }}

{{/* lib.scalar: writes numbers without an exponent; Helm would write 1e+06. */}}
{{- define "lib.scalar" -}}
{{- if kindIs "float64" . }}{{ if eq (floor .) . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/*
lib.text: a value as one YAML scalar that parses to the same text, also within { } and [ ]: plain if that is safe,
otherwise JSON. `NO` remains a text, `1` does not become a number, and text after a line break does not become a field.
*/}}
{{- define "lib.text" -}}
{{- $text := include "lib.scalar" (. | default "") -}}
{{- if and (regexMatch `^[A-Za-z0-9/._$-][A-Za-z0-9/._=@-]*(:[A-Za-z0-9/._=@-]+)*$` $text) (eq (toYaml $text) $text) }}{{ $text }}{{ else }}{{ toJson $text }}{{ end }}
{{- end }}

{{/* lib.flat (option, value): lib.scalar; rejects mappings and lists, which would be written as Go writes them. */}}
{{- define "lib.flat" -}}
{{- if or (kindIs "map" (index . 1)) (kindIs "slice" (index . 1)) }}
{{- fail (printf "option %s: mappings and lists are not allowed inside a value" (index . 0)) }}
{{- end }}
{{- include "lib.scalar" (index . 1) }}
{{- end }}

{{/* lib.comma (option, list) */}}
{{- define "lib.comma" -}}
{{- $option := index . 0 }}
{{- range $i, $value := index . 1 }}{{ if $i }},{{ end }}{{ include "lib.flat" (list $option $value) }}{{ end }}
{{- end }}

{{/*
lib.once ({option: value}): rejects an option with two spellings: a program uses the last of two lines, which is often
the default. Options with value null are ignored.
*/}}
{{- define "lib.once" -}}
{{- $seen := dict }}
{{- range $option, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{- $name := replace "-" "_" $option }}
{{- if hasKey $seen $name }}{{ fail (printf "option %s is there twice: write it as the chart's values.yaml does" $option) }}{{ end }}
{{- $_ := set $seen $name true }}
{{- end }}
{{- end }}
{{- end }}

{{/* lib.dotted (prefix, {a: {b: 1}}) to lines "a.b = 1". */}}
{{- define "lib.dotted" -}}
{{- $flat := dict }}
{{- include "lib.flatten" (list $flat (index . 0) (index . 1)) }}
{{- range $option, $value := $flat }}
{{- include "lib.oslo_conf.name" (list "option" $option) }} = {{ include "lib.line" (list $option (include "lib.flat" (list $option $value))) }}
{{ end }}
{{- end }}

{{/* lib.flatten (flat, prefix, {a: {b: 1}}) puts {"a.b": 1} into `flat`. */}}
{{- define "lib.flatten" -}}
{{- $flat := index . 0 }}
{{- $prefix := index . 1 }}
{{- range $key, $value := index . 2 }}
{{- $option := printf "%s%s" $prefix $key }}
{{- if kindIs "map" $value }}{{ include "lib.flatten" (list $flat (printf "%s." $option) $value) }}
{{- else if not (kindIs "invalid" $value) }}
{{- if hasKey $flat $option }}{{ fail (printf "option %s is there twice: write it as the chart's values.yaml does" $option) }}{{ end }}
{{- $_ := set $flat $option $value }}
{{- end }}
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

{{/*
lib.shell_word (field, value): a value in a file that a shell reads. Values of single nodes are merged after Helm has
checked the schema, so the template rejects characters with a meaning in a shell or in YAML, too.
*/}}
{{- define "lib.shell_word" -}}
{{- $value := toString (index . 1) -}}
{{- if regexMatch "[^a-zA-Z0-9._:-]" $value }}
{{- fail (printf "%s: only letters, digits and . _ : - are allowed" (index . 0)) }}
{{- end }}
{{- $value }}
{{- end }}

{{/* lib.shell_words (field, values, separator): each value as lib.shell_word, joined. */}}
{{- define "lib.shell_words" -}}
{{- $field := index . 0 -}}
{{- $words := list -}}
{{- range index . 1 }}{{ $words = append $words (include "lib.shell_word" (list $field .)) }}{{ end -}}
{{- join (index . 2) $words -}}
{{- end }}

{{/* lib.configmap_etc (root, template): the files that the template names, as YAML {file: text}. */}}
{{- define "lib.configmap_etc" -}}
{{- $root := index . 0 -}}
{{- $files := include (index . 1) $root | fromYaml }}
{{- if $files.Error }}{{ fail (printf "template %s is not YAML: %s" (index . 1) $files.Error) }}{{ end }}
{{- include "lib.configmap" (list $root "etc" $files) }}
{{- end }}

{{/* lib.configmap_bin (root): all scripts of the chart's folder bin/, unchanged. */}}
{{- define "lib.configmap_bin" -}}
{{- $files := dict }}
{{- range $path, $text := .Files.Glob "bin/*" }}{{ $_ := set $files (base $path) (toString $text) }}{{ end }}
{{- include "lib.configmap" (list . "bin" $files) }}
{{- end }}
