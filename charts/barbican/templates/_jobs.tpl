{{- define "barbican.db_sync" -}}
name: barbican-db-sync
restartPolicy: OnFailure
{{ include "barbican.manage" (list . "db-sync" (list "python3" "/opt/stackwright/migrate.py" "/etc/barbican/barbican.conf.d" "database" "barbican-manage" "db" "upgrade")) }}
{{- end }}

{{/* Removes rows of deleted secrets, and deletes those that have expired. */}}
{{- define "barbican.db_purge" -}}
{{- $c := .Values.cron.db_purge -}}
name: barbican-db-purge
schedule: {{ $c.schedule | default "" | quote }}
{{ include "barbican.manage" (list . "db-purge" (list "barbican-manage" "db" "clean" "--min-days" $c.age "--soft-delete-expired-secrets")) }}
{{- end }}

{{/* Encrypts the keys of projects with the primary key, after a rotation. */}}
{{- define "barbican.kek_rewrap" -}}
name: barbican-kek-rewrap
schedule: {{ .Values.cron.kek_rewrap.schedule | default "" | quote }}
{{ include "barbican.manage" (list . "kek-rewrap" (list "python3" "-P" "/opt/stackwright/rewrap.py")) }}
{{- end }}

{{/* barbican.manage (root, component, command): a program that uses the database; only one has the keys. */}}
{{- define "barbican.manage" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $keys := eq $component "kek-rewrap" -}}
component: {{ include "lib.text" $component }}
placement: job
configmaps: [etc, bin]
containers:
  - name: {{ include "lib.text" $component }}
    image: barbican_db_sync
    command:
      {{- range index . 2 }}
      - {{ include "lib.scalar" . | quote }}
      {{- end }}
    volumeMounts:
      {{- include "barbican.mounts" $root | nindent 6 }}
      {{- if $keys }}
      - {name: kek, mountPath: /etc/barbican/kek, readOnly: true}
      {{- end }}
volumes:
  {{- include "barbican.snippets" (list $root "database") | nindent 2 }}
  {{- if $keys }}
  - name: kek
    secret: {secretName: {{ include "lib.text" $root.Values.secrets.kek }}, defaultMode: 0400}
  {{- end }}
{{- end }}
