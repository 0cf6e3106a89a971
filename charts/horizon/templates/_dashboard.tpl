{{- define "horizon.dashboard" -}}
name: horizon
component: horizon
configmaps: [etc, bin]
ingress: {host: horizon, port: http, uploads: {{ include "lib.uploads" .Values.conf.horizon_uwsgi }}}
service:
  name: {{ include "lib.text" .Values.endpoints.dashboard.hosts.default }}
  ports:
    - {name: http, port: {{ .Values.endpoints.dashboard.port.web.default }}}
containers:
  - name: horizon
    image: horizon
    command: [uwsgi, --ini, /etc/openstack-dashboard/horizon-uwsgi.ini]
    ports:
      - {name: http, containerPort: {{ .Values.endpoints.dashboard.port.web.container }}}
    probes:
      # By HTTP, because uWSGI's master keeps the port open while its workers crash. Django serves only known host names.
      readiness:
        httpGet: &login
          path: /auth/login/
          port: http
          httpHeaders: [{name: Host, value: localhost}]
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 3
      liveness:
        httpGet: *login
        initialDelaySeconds: 120
        periodSeconds: 30
        timeoutSeconds: 30
        failureThreshold: 5
    volumeMounts:
      - {name: etc, mountPath: /etc/openstack-dashboard/horizon-uwsgi.ini, subPath: horizon-uwsgi.ini, readOnly: true}
      - {name: etc, mountPath: /etc/openstack-dashboard/settings.json, subPath: settings.json, readOnly: true}
      - {name: bin, mountPath: /etc/openstack-dashboard/local_settings.py, subPath: local_settings.py, readOnly: true}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: secret-key, mountPath: /etc/openstack-dashboard/secret-key, readOnly: true}
volumes:
  - name: secret-key
    secret: {secretName: {{ include "lib.text" .Values.secrets.secret_key }}, defaultMode: 0400}
{{- end }}
