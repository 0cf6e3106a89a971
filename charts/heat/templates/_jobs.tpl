{{- define "heat.db_sync" -}}
name: heat-db-sync
restartPolicy: OnFailure
{{ include "heat.manage" (list . "db-sync" (list "python3" "/opt/stackwright/migrate.py" "/etc/heat/heat.conf.d" "database" "heat-manage" "db_sync")) }}
{{- end }}

{{/* Removes rows of stacks that were deleted. */}}
{{- define "heat.db_purge" -}}
{{- $c := .Values.cron.db_purge -}}
name: heat-db-purge
schedule: {{ $c.schedule | default "" | quote }}
{{ include "heat.manage" (list . "db-purge" (list "heat-manage" "purge_deleted" "--granularity" "days" "--batch_size" $c.batch $c.age)) }}
{{- end }}

{{/* Removes the records of engines that ended without doing so, as after the loss of a node. */}}
{{- define "heat.engine_cleaner" -}}
name: heat-engine-cleaner
schedule: {{ .Values.cron.engine_cleaner.schedule | default "" | quote }}
{{ include "heat.manage" (list . "engine-cleaner" (list "heat-manage" "service" "clean")) }}
{{- end }}

{{/* heat.manage (root, component, command): a program that uses the database. */}}
{{- define "heat.manage" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
component: {{ include "lib.text" $component }}
placement: job
configmaps: [etc, bin]
containers:
  - name: {{ include "lib.text" $component }}
    image: heat_db_sync
    command:
      {{- range index . 2 }}
      - {{ include "lib.scalar" . | quote }}
      {{- end }}
    volumeMounts:
      {{- include "heat.mounts" $root | nindent 6 }}
volumes:
  {{- include "heat.snippets" (list $root "" "database") | nindent 2 }}
{{- end }}
