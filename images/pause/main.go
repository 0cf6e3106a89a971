// Pause keeps the namespaces of a pod open. It must not exit, because kubelet recreates a sandbox whose process has ended.
// As process 1 of a pod with a shared process namespace it also reaps orphaned child processes.
package main

import (
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	debug.SetGCPercent(-1) // main allocates no more memory; without the garbage collector one thread less wakes up
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for got := range signals {
		if got != syscall.SIGCHLD {
			return
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 && err != syscall.EINTR {
				break
			}
		}
	}
}
