{{- define "cinder.db_sync" -}}
name: cinder-db-sync
component: db-sync
placement: job
configmaps: [etc, bin]
restartPolicy: OnFailure
containers:
  - name: db-sync
    image: cinder_db_sync
    command: [python3, /opt/stackwright/db-sync.py]
    volumeMounts:
      {{- include "cinder.mounts" (list .) | nindent 6 }}
volumes:
  {{- include "cinder.snippets" (list . "database") | nindent 2 }}
{{- end }}

{{/* The volume types: a separate Job, which is recreated when the values bootstrap.volume_types change. */}}
{{- define "cinder.bootstrap" -}}
name: cinder-bootstrap
component: bootstrap
placement: job
configmaps: [bin]
restartPolicy: OnFailure
containers:
  - name: bootstrap
    image: cinder_bootstrap
    command: [python3, /opt/stackwright/bootstrap.py]
    env:
      - {name: HOME, value: /tmp}
      - {name: OS_CLOUD, value: {{ include "lib.text" .Values.bootstrap.cloud }}}
      - name: BOOTSTRAP
        value: {{ .Values.bootstrap.volume_types | toJson | quote }}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: clouds, mountPath: /etc/openstack, readOnly: true}
volumes:
  - name: clouds
    secret:
      secretName: {{ include "lib.text" .Values.secrets.identity.admin }}
      defaultMode: 0400
      items: [{key: clouds.yaml, path: clouds.yaml}]
{{- end }}
