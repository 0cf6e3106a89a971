{{- define "memcached.server" -}}
{{- $port := .Values.endpoints.oslo_cache.port.memcache.default -}}
{{- $conf := .Values.conf.memcached -}}
name: memcached
component: server
# Headless: clients distribute keys over the servers themselves, so they need the address of each server.
headless:
  name: memcached
  ports:
    - {name: memcache, port: {{ $port }}}
containers:
  - name: memcached
    image: memcached
    command:
      - memcached
      - --port={{ $port }}
      - {{ include "lib.text" (printf "--memory-limit=%s" (include "lib.scalar" $conf.memory)) }}
      - {{ include "lib.text" (printf "--conn-limit=%s" (include "lib.scalar" $conf.max_connections)) }}
      - {{ include "lib.text" (printf "--max-item-size=%s" (include "lib.scalar" $conf.max_item_size)) }}
      - {{ include "lib.text" (printf "--threads=%s" (include "lib.scalar" $conf.threads)) }}
      {{- range $conf.extra_args }}
      - {{ . | quote }}
      {{- end }}
    env:
      - {name: PORT, value: {{ $port | quote }}}
    ports:
      - {name: memcache, containerPort: {{ $port }}}
    probes:
      # A response, not only an open port, because the kernel accepts connections for a hanging server.
      {{- $answer := `exec 3<>/dev/tcp/127.0.0.1/$PORT && echo -e "version\r" >&3 && read -rt 2 answer <&3 && [[ $answer == VERSION* ]]` }}
      {{- $ask := list "bash" "-c" $answer }}
      {{- include "lib.asked" (list $ask 15 60) | nindent 6 }}
      liveness:
        exec: {command: {{ toJson $ask }}}
        periodSeconds: 15
        timeoutSeconds: 5
        failureThreshold: 4
{{- end }}
