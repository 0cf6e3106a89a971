// Pause holds the namespaces of a pod. It must really pause: a sandbox whose process ends is made anew for ever.
// As process 1 of a pod that shares its process namespace it also reaps the children others left behind.
package main

import (
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	debug.SetGCPercent(-1) // nothing is allocated any more: one thread less wakes up
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
