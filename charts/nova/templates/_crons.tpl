{{- define "nova.db_purge" -}}
{{- $c := .Values.cron.db_purge -}}
name: nova-db-purge
component: db-purge
schedule: {{ $c.schedule | default "" | quote }}
{{ include "nova.cron" (list . "db-purge" (list (int $c.age) (int $c.batch))) }}
{{- end }}

{{- define "nova.service_cleaner" -}}
{{- $c := .Values.cron.service_cleaner -}}
{{- $arguments := list (int $c.age) -}}
{{- range $component := list "conductor" "scheduler" -}}
{{- range until (int (get $.Values.pod.replicas $component)) }}{{ $arguments = append $arguments (printf "nova-%s-%d" $component .) }}{{ end -}}
{{- end -}}
name: nova-service-cleaner
component: service-cleaner
schedule: {{ $c.schedule | default "" | quote }}
{{ include "nova.cron" (list . "service-cleaner" $arguments) }}
{{- end }}

{{/* nova.cron (root, component, arguments): runs the script of that name, which uses the databases. */}}
{{- define "nova.cron" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
placement: job
configmaps: [etc, bin]
containers:
  - name: {{ include "lib.text" $component }}
    image: nova
    command: [python3, /opt/stackwright/{{ $component }}.py]
    args:
      {{- range index . 2 }}
      - {{ . | quote }}
      {{- end }}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- include "nova.mounts" $root | nindent 6 }}
volumes:
  {{- include "nova.snippets" (list $root "database" "api_database" "messaging") | nindent 2 }}
{{- end }}
