{{- define "rabbitmq.server" -}}
{{- $port := .Values.endpoints.oslo_messaging.port -}}
name: {{ include "lib.text" (printf "%s-server" .Values.name) }}
component: server
configmaps: [etc, bin]
claim: rabbitmq-data
headless:
  name: {{ include "lib.text" (printf "%s-discovery" .Values.name) }}
  notReady: true
  ports:
    - {name: amqp, port: {{ $port.amqp.default }}}
service:
  name: {{ include "lib.text" .Values.name }}
  ports:
    - {name: amqp, port: {{ $port.amqp.default }}}
    - {name: http, port: {{ $port.http.default }}}
containers:
  - name: rabbitmq
    image: rabbitmq
    command: [/opt/stackwright/start.sh]
    env:
      # The name of the node is part of the database's path, so it must not change with the pod.
      - {name: RABBITMQ_NODENAME, value: rabbit@localhost}
      - {name: RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS, value: {{ printf "+S %d:%d %s" (int .Values.conf.schedulers) (int .Values.conf.schedulers) .Values.conf.erl_args | quote }}}
      - {name: RABBITMQ_CONFIG_FILE, value: /etc/rabbitmq/stackwright/rabbitmq.conf}
      - {name: RABBITMQ_ENABLED_PLUGINS_FILE, value: /etc/rabbitmq/stackwright/enabled_plugins}
      - {name: RABBITMQ_ADVANCED_CONFIG_FILE, value: /run/rabbitmq/advanced.config}
      - {name: RABBITMQ_LOGS, value: "-"}
      # A single broker: only processes in the pod need the port mapper.
      - {name: ERL_EPMD_ADDRESS, value: 127.0.0.1}
      - {name: HOME, value: /var/lib/rabbitmq}
      - {name: AMQP_PORT, value: {{ $port.amqp.default | quote }}}
    ports:
      - {name: amqp, containerPort: {{ $port.amqp.default }}}
      - {name: http, containerPort: {{ $port.http.default }}}
    probes:
      # rabbitmq-diagnostics starts an Erlang VM each time, which costs a second of CPU. The AMQP listener opens last, so its
      # state in the kernel is as good. A connection to it would fill the log.
      {{- include "lib.asked" (list (list "/opt/stackwright/ready.sh") 9) | nindent 6 }}
      # The management plug-in responds if and only if the Erlang VM still works.
      liveness:
        httpGet: {path: /, port: http}
        initialDelaySeconds: 60
        periodSeconds: 15
        timeoutSeconds: 10
        failureThreshold: 6
    volumeMounts:
      - {name: rabbitmq-data, mountPath: /var/lib/rabbitmq}
      - {name: run, mountPath: /run/rabbitmq}
      - {name: run, mountPath: /etc/rabbitmq/conf.d, subPath: conf.d}
      - {name: etc, mountPath: /etc/rabbitmq/stackwright, readOnly: true}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: admin, mountPath: /run/secrets/rabbitmq-admin, readOnly: true}
volumes:
  - name: run
    emptyDir: {medium: Memory}
  - name: admin
    secret:
      secretName: {{ include "lib.text" .Values.secrets.oslo_messaging.admin }}
      defaultMode: 0400
{{- end }}

{{- define "rabbitmq.etc" -}}
rabbitmq.conf: {{ include "lib.dotted" (list "" .Values.conf.rabbitmq) | toJson }}
enabled_plugins: {{ printf "[%s].\n" (.Values.conf.enabled_plugins | join ",") | toJson }}
{{- end }}
