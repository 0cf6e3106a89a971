{{- define "keystoneclient.client" -}}
name: keystone-client
component: client
containers:
  - name: keystone-client
    image: keystone_client
    # PID 1 ignores SIGTERM unless it has a handler; with one, the pod ends at once.
    command: [sh, -c, "trap 'exit 0' TERM INT; sleep infinity & wait"]
    workingDir: /tmp
    env:
      - {name: OS_CLOUD, value: {{ include "lib.text" .Values.conf.cloud }}}
      - {name: OS_CLIENT_CONFIG_FILE, value: /etc/openstack/clouds.yaml}
      - {name: HOME, value: /tmp}
    volumeMounts:
      # A directory, not a subPath, so that a rotated password arrives without a restart.
      - {name: clouds, mountPath: /etc/openstack, readOnly: true}
volumes:
  - name: clouds
    secret:
      secretName: {{ include "lib.text" .Values.secrets.identity.admin }}
      defaultMode: 0400
      items: [{key: clouds.yaml, path: clouds.yaml}]
{{- end }}
