{{- define "placement.api" -}}
name: placement-api
component: api
configmaps: [etc, bin]
ingress: {host: placement, port: api, uploads: {{ include "lib.uploads" .Values.conf.placement_api_uwsgi }}}
service:
  name: {{ include "lib.text" .Values.endpoints.placement.hosts.default }}
  ports:
    - {name: api, port: {{ .Values.endpoints.placement.port.api.default }}}
containers:
  - name: placement-api
    image: placement_api
    command: [uwsgi, --ini, /etc/placement/placement-api-uwsgi.ini]
    ports:
      - {name: api, containerPort: {{ .Values.endpoints.placement.port.api.default }}}
    probes:
      # By HTTP, because uWSGI's master keeps the port open while its workers crash. The list of versions needs no token.
      readiness:
        httpGet: {path: /, port: api}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 3
      # Starts late, because placement-api.py waits for its tables.
      liveness:
        httpGet: {path: /, port: api}
        initialDelaySeconds: 180
        periodSeconds: 30
        timeoutSeconds: 30
        failureThreshold: 10
    volumeMounts:
      - {name: etc, mountPath: /etc/placement/placement-api-uwsgi.ini, subPath: placement-api-uwsgi.ini, readOnly: true}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- include "placement.mounts" . | nindent 6 }}
volumes:
  {{- include "placement.volumes" . | nindent 2 }}
{{- end }}
