#!/bin/bash
# answers.sh PORT: whether a DNS server of this pod answers by its database. It asks for a name that no cache has; while the database
# is unavailable, the answer is SERVFAIL. Prints the cause.
no() {
    echo "$1"
    exit 1
}

exec 3<>"/dev/udp/127.0.0.1/$1" || no "no socket"
printf '\x00\x01\0\0\0\1\0\0\0\0\0\0\x08%04x%04x\7invalid\0\0\6\0\1' $RANDOM $RANDOM >&3 || no "the server does not run"
answer=$(timeout 3 dd bs=512 count=1 status=none <&3 | od -An -v -tx1 -N4)
[[ $answer =~ ^\ 00\ 01\ [89a-f].\ .([0-9a-f])$ ]] || no "the server does not answer"
[[ ${BASH_REMATCH[1]} != 2 ]] || no "the server cannot read its database"
