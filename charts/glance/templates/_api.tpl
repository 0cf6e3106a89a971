{{- define "glance.api" -}}
name: glance-api
component: api
configmaps: [etc, bin]
ingress: {host: glance, port: api, uploads: {{ include "lib.uploads" .Values.conf.glance_api_uwsgi }}}
service:
  name: {{ include "lib.text" .Values.endpoints.image.hosts.default }}
  ports:
    - {name: api, port: {{ .Values.endpoints.image.port.api.default }}}
{{- if eq .Values.pod.lifecycle.upgrades.deployments.pod_replacement_strategy "Recreate" }}
strategy: {type: Recreate}
{{- end }}
containers:
  - name: glance-api
    image: glance_api
    command: [uwsgi, --ini, /etc/glance/glance-api-uwsgi.ini]
    {{- if not .Values.volume.store }}
    env:
      # Without a shared volume, an upload waits in the pod that received it; other pods forward the import request to it.
      - name: POD_IP
        valueFrom: {fieldRef: {fieldPath: status.podIP}}
      - name: OS_DEFAULT__WORKER_SELF_REFERENCE_URL
        value: http://$(POD_IP):{{ .Values.endpoints.image.port.api.default }}
    {{- end }}
    ports:
      - {name: api, containerPort: {{ .Values.endpoints.image.port.api.default }}}
    probes:
      # By HTTP, because uWSGI's master keeps the port open while its workers crash.
      readiness:
        httpGet: {path: /healthcheck, port: api}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 3
      # A high limit: uploads may occupy all threads for a while.
      liveness:
        httpGet: {path: /healthcheck, port: api}
        initialDelaySeconds: 120
        periodSeconds: 30
        timeoutSeconds: 30
        failureThreshold: 10
    volumeMounts:
      - {name: etc, mountPath: /etc/glance/glance-api-uwsgi.ini, subPath: glance-api-uwsgi.ini, readOnly: true}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: images, mountPath: /var/lib/glance}
      {{- if include "glance.ceph" . }}
      - {name: ceph, mountPath: /etc/ceph, readOnly: true}
      {{- end }}
      {{- include "glance.mounts" . | nindent 6 }}
volumes:
  - name: images
    {{- if .Values.volume.store }}
    persistentVolumeClaim: {claimName: glance-images}
    {{- else }}
    emptyDir: {}
    {{- end }}
  {{- with include "glance.ceph" . }}
  - name: ceph
    projected:
      defaultMode: 0400
      sources:
        {{- . | nindent 8 }}
  {{- end }}
  {{- include "glance.volumes" (list . "rbd") | nindent 2 }}
{{- end }}

{{/*
/etc/ceph: the client of RBD stores, and a key of Cinder under the name that os-brick reads, with which it opens
the volumes of Cinder stores. A directory, so that new keys and monitors arrive without a restart.
*/}}
{{- define "glance.ceph" -}}
{{- with .Values.secrets.ceph.glance }}
- secret:
    name: {{ include "lib.text" . }}
    items: [{key: ceph.conf, path: ceph.conf}, {key: keyring, path: keyring}]
{{- end }}
{{- with .Values.secrets.ceph.cinder }}
- secret:
    name: {{ include "lib.text" . }}
    items: [{key: keyring, path: {{ include "lib.text" (printf "ceph.client.%s.keyring" $.Values.ceph.cinder_user) }}}]
{{- end }}
{{- end }}
