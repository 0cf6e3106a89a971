# Functions of this chart's scripts; sourced.
say() { printf '%(%T)T %s\n' -1 "$*"; }

# Writes the termination message, which the cloud's status shows as the cause.
fail() {
    say "$*" >&2
    printf '%s' "$*" >/dev/termination-log
    exit 1
}

# remote SERVICE PORT: prints tcp:<address>:<port>, because OVN's programs accept only addresses. A Service's address is fixed.
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
