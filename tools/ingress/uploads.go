package main

import (
	"context"
	"errors"
	"sync"
)

var errBusy = errors.New("the pods take no more long bodies at the moment")

// uploads counts the long bodies that each pod is receiving. A body occupies a worker of the pod until it has arrived
// completely, so the limit per pod is lower than its number of workers; further bodies wait here.
type uploads struct {
	mutex sync.Mutex
	busy  map[string]int // by the address of a pod
	freed chan struct{}  // closed when one ends
}

func newUploads() *uploads { return &uploads{busy: map[string]int{}, freed: make(chan struct{})} }

// take waits until a pod is below the limit, and chooses the pod with the fewest bodies.
func (u *uploads) take(ctx context.Context, addresses []string, each int) (string, error) {
	for {
		u.mutex.Lock()
		chosen := addresses[0]
		for _, address := range addresses[1:] {
			if u.busy[address] < u.busy[chosen] {
				chosen = address
			}
		}
		if u.busy[chosen] < each {
			u.busy[chosen]++
			u.mutex.Unlock()
			return chosen, nil
		}
		freed := u.freed
		u.mutex.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return "", errBusy
		}
	}
}

func (u *uploads) release(address string) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.busy[address]--; u.busy[address] == 0 {
		delete(u.busy, address)
	}
	close(u.freed)
	u.freed = make(chan struct{})
}
