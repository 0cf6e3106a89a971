{{- define "ceph.provide" -}}
name: ceph-provide
component: provide
configmaps: [etc, bin]
strategy: {type: Recreate}
containers:
  - name: provide
    image: ceph
    command: [python3, /opt/stackwright/provide.py]
    env:
      {{- include "ceph.env" . | nindent 6 }}
      - {name: POOL_SIZE, value: {{ .Values.pool.size | quote }}}
      - {name: POOL_PG_NUM, value: {{ .Values.pool.pg_num | quote }}}
      - {name: POOL_DEVICE_CLASS, value: {{ include "lib.text" .Values.pool.device_class }}}
      - {name: CLIENT_OPTIONS, value: {{ toJson .Values.conf.clients | quote }}}
    volumeMounts:
      {{- include "ceph.mounts" . | nindent 6 }}
      - {name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
volumes:
  {{- include "ceph.volumes" . | nindent 2 }}
  {{- include "ceph.token" . | nindent 2 }}
{{- end }}
