{{- define "cinder.db_purge" -}}
{{- $c := .Values.cron.db_purge -}}
{{ include "cinder.cron" (list . "db-purge" $c.schedule (list "cinder-manage" "db" "purge" $c.age)) }}
{{- end }}

{{- define "cinder.service_cleaner" -}}
{{- $c := .Values.cron.service_cleaner -}}
{{- $command := list "python3" "/opt/stackwright/service-cleaner.py" $c.age -}}
{{- range $component := list "scheduler" "volume" "backup" -}}
{{- range until (int (get $.Values.pod.replicas $component)) }}{{ $command = append $command (printf "cinder-%s-%d" $component .) }}{{ end -}}
{{- end -}}
{{ include "cinder.cron" (list . "service-cleaner" $c.schedule $command) }}
{{- end }}

{{/* Sends notifications about the volumes that existed in the last hour, for billing. */}}
{{- define "cinder.usage_audit" -}}
{{ include "cinder.cron" (list . "usage-audit" .Values.cron.usage_audit.schedule (list "cinder-volume-usage-audit")) }}
{{- end }}

{{/* cinder.cron (root, component, schedule, command) */}}
{{- define "cinder.cron" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
name: cinder-{{ $component }}
component: {{ include "lib.text" $component }}
schedule: {{ index . 2 | default "" | quote }}
placement: job
configmaps: [etc, bin]
containers:
  - name: {{ include "lib.text" $component }}
    image: cinder_db_sync
    command:
      {{- range index . 3 }}
      - {{ include "lib.scalar" . | quote }}
      {{- end }}
    volumeMounts:
      {{- include "cinder.mounts" (list $root) | nindent 6 }}
volumes:
  {{- include "cinder.snippets" (list $root "database" "messaging" "notifications") | nindent 2 }}
{{- end }}
