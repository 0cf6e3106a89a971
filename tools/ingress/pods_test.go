package main

import (
	"net"
	"syscall"
	"testing"
)

// A pod whose node lost its power or network closes no connection; without limits, its requests would wait for up to a
// quarter of an hour.
func TestAConnectionToAPodEndsWhenItsNodeIsLost(t *testing.T) {
	w := newWorld(t, 4, clients, nil)
	conn, err := w.proxy.dial(t.Context(), w.proxy.current.table.Load().find(host, "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[int]int{userTimeout: 60_000, syscall.TCP_KEEPIDLE: 15, syscall.TCP_KEEPINTVL: 5, syscall.TCP_KEEPCNT: 3}
	_ = raw.Control(func(fd uintptr) {
		for option, value := range wanted {
			if got, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, option); err != nil || got != value {
				t.Errorf("option %d is %d, %v", option, got, err)
			}
		}
	})
}
