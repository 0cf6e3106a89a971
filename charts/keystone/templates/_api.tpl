{{- define "keystone.api" -}}
name: keystone-api
component: api
configmaps: [etc, bin]
service:
  name: {{ include "lib.text" .Values.endpoints.identity.hosts.default }}
  ports:
    - {name: api, port: {{ .Values.endpoints.identity.port.api.default }}}
ingress: {host: keystone, port: api, uploads: {{ include "lib.uploads" .Values.conf.keystone_api_uwsgi }}}
containers:
  - name: keystone-api
    image: keystone_api
    command: [uwsgi, --ini, /etc/keystone/keystone-api-uwsgi.ini]
    ports:
      - {name: api, containerPort: {{ .Values.endpoints.identity.port.api.default }}}
    probes:
      # By HTTP, because uWSGI's master keeps the port open while its workers crash.
      readiness:
        httpGet: {path: /v3, port: api}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 3
      liveness:
        httpGet: {path: /v3, port: api}
        initialDelaySeconds: 60
        periodSeconds: 30
        timeoutSeconds: 30
        failureThreshold: 10
    volumeMounts:
      - {name: etc, mountPath: /etc/keystone/keystone-api-uwsgi.ini, subPath: keystone-api-uwsgi.ini, readOnly: true}
      {{- include "keystone.cache.mounts" . | nindent 6 }}
      {{- include "keystone.mounts" . | nindent 6 }}
volumes:
  {{- include "keystone.cache.volumes" . | nindent 2 }}
  {{- include "keystone.volumes" . | nindent 2 }}
{{- end }}
