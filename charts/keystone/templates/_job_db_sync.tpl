{{- define "keystone.db_sync" -}}
{{- $admin := .Values.endpoints.identity.auth.admin -}}
name: keystone-db-sync
component: db-sync
placement: job
configmaps: [etc, bin]
restartPolicy: OnFailure
# Both steps are repeatable.
initContainers:
  - name: db-sync
    image: keystone_db_sync
    command: [python3, /opt/stackwright/migrate.py, /etc/keystone/keystone.conf.d, database, keystone-manage, db_sync]
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- include "keystone.mounts" . | nindent 6 }}
containers:
  - name: bootstrap
    image: keystone_db_sync
    # The environment passes all values, because an argument would show the password in the process list.
    command: [python3, /opt/stackwright/manage.py, bootstrap]
    env:
      # The API may have cached that the administrator has no role, so a cache that was unavailable is tried again at once.
      - {name: OS_CACHE__MEMCACHE_DEAD_RETRY, value: "0"}
      - name: OS_BOOTSTRAP_USERNAME
        valueFrom: {secretKeyRef: {name: {{ include "lib.text" .Values.secrets.identity.admin }}, key: username}}
      - name: OS_BOOTSTRAP_PASSWORD
        valueFrom: {secretKeyRef: {name: {{ include "lib.text" .Values.secrets.identity.admin }}, key: password}}
      - {name: OS_BOOTSTRAP_PROJECT_NAME, value: {{ include "lib.text" $admin.project_name }}}
      - {name: OS_BOOTSTRAP_ROLE_NAME, value: admin}
      - {name: OS_BOOTSTRAP_SERVICE_NAME, value: {{ include "lib.text" .Values.endpoints.identity.name }}}
      - {name: OS_BOOTSTRAP_REGION_ID, value: {{ include "lib.text" $admin.region_name }}}
      - {name: OS_BOOTSTRAP_PUBLIC_URL, value: {{ include "lib.text" (include "lib.endpoint_url" (list . "identity" "public" "api")) }}}
      - {name: OS_BOOTSTRAP_INTERNAL_URL, value: {{ include "lib.text" (include "lib.endpoint_url" (list . "identity" "internal" "api")) }}}
      - {name: OS_BOOTSTRAP_ADMIN_URL, value: {{ include "lib.text" (include "lib.endpoint_url" (list . "identity" "admin" "api")) }}}
    volumeMounts:
      {{- include "keystone.cache.mounts" . | nindent 6 }}
      {{- include "keystone.mounts" . | nindent 6 }}
volumes:
  {{- include "keystone.cache.volumes" . | nindent 2 }}
  {{- include "keystone.volumes" . | nindent 2 }}
{{- end }}
