# What the scripts of this chart share. Sourced.
say() { printf '%(%T)T %s\n' -1 "$*"; }

# The last words of a container are the cause that the cloud's status shows.
fail() {
    say "$*" >&2
    printf '%s' "$*" >/dev/termination-log
    exit 1
}

# tcp:<address>:<port> of a Service: OVN's programs in C want an address. A Service keeps its own as long as it lives.
remote() {
    local tries address
    for tries in {1..60}; do
        address=$(getent ahosts "$1" | awk 'NR == 1 {print $1}')
        [[ -z $address ]] || break
        sleep 1
    done
    [[ -n ${address:-} ]] || fail "The name $1 has no address in the cluster's DNS"
    [[ $address != *:* ]] || address="[$address]"
    echo "tcp:$address:$2"
}
