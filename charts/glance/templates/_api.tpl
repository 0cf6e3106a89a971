{{- define "glance.api" -}}
name: glance-api
component: api
configmaps: [etc]
ingress: {host: glance, port: api}
service:
  name: {{ .Values.endpoints.image.hosts.default }}
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
      # Without a common volume an upload waits in the pod that took it; the others send its import there.
      - name: POD_IP
        valueFrom: {fieldRef: {fieldPath: status.podIP}}
      - name: OS_DEFAULT__WORKER_SELF_REFERENCE_URL
        value: http://$(POD_IP):{{ .Values.endpoints.image.port.api.default }}
    {{- end }}
    ports:
      - {name: api, containerPort: {{ .Values.endpoints.image.port.api.default }}}
    probes:
      # By HTTP: uWSGI's master keeps the port open while its workers crash.
      readiness:
        httpGet: {path: /healthcheck, port: api}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 3
      # With much patience: uploads may keep all threads busy for a while.
      liveness:
        httpGet: {path: /healthcheck, port: api}
        initialDelaySeconds: 120
        periodSeconds: 30
        timeoutSeconds: 30
        failureThreshold: 10
    volumeMounts:
      - {name: etc, mountPath: /etc/glance/glance-api-uwsgi.ini, subPath: glance-api-uwsgi.ini, readOnly: true}
      - {name: images, mountPath: /var/lib/glance}
      {{- include "glance.mounts" . | nindent 6 }}
volumes:
  - name: images
    {{- if .Values.volume.store }}
    persistentVolumeClaim: {claimName: glance-images}
    {{- else }}
    emptyDir: {}
    {{- end }}
  {{- include "glance.volumes" . | nindent 2 }}
{{- end }}
