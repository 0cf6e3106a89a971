{{- define "almanac.api" -}}
name: almanac-api
component: api
configmaps: [etc]
ingress: {host: almanac, port: api}
service:
  name: {{ include "lib.text" .Values.endpoints.almanac.hosts.default }}
  ports:
    - {name: api, port: {{ .Values.endpoints.almanac.port.api.default }}}
containers:
  - name: almanac-api
    image: almanac_api
    command: [almanac-api]
    ports:
      - {name: api, containerPort: {{ .Values.endpoints.almanac.port.api.default }}}
    probes:
      readiness:
        httpGet: {path: /, port: api}
      liveness:
        httpGet: {path: /, port: api}
    volumeMounts:
      - {name: etc, mountPath: /etc/almanac/almanac.conf, subPath: almanac.conf, readOnly: true}
      - {name: snippets, mountPath: /etc/almanac/almanac.conf.d, readOnly: true}
      - {name: sessions, mountPath: /etc/almanac/sessions, readOnly: true}
      - {name: keys, mountPath: /etc/almanac/keys, readOnly: true}
      - {name: locks, mountPath: /etc/almanac/etcd, readOnly: true}
volumes:
  - name: sessions
    secret: {secretName: {{ include "lib.text" .Values.secrets.sessions.almanac }}, defaultMode: 0400}
  - name: keys
    secret: {secretName: {{ include "lib.text" .Values.secrets.keys.almanac }}, defaultMode: 0400}
  - name: locks
    secret: {secretName: {{ include "lib.text" .Values.secrets.tls.etcd }}, defaultMode: 0400}
  - name: snippets
    projected:
      defaultMode: 0400
      sources:
        - secret:
            name: {{ include "lib.text" .Values.secrets.oslo_db.almanac }}
            items: [{key: database.conf, path: database.conf}]
        - secret:
            name: {{ include "lib.text" .Values.secrets.oslo_messaging.almanac }}
            items: [{key: messaging.conf, path: messaging.conf}]
        - secret:
            name: {{ include "lib.text" .Values.secrets.identity.almanac }}
            items: [{key: keystone_authtoken.conf, path: keystone_authtoken.conf}]
{{- end }}
