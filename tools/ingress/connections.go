package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// gate bounds the connections of all listeners together, and so the memory that they take. A connection carries one
// request at a time. If there are too many, an idle one is closed, and if there is none, one of the address that has most:
// others keep theirs. That may be the new one; one whose response has begun is never closed.
type gate struct {
	total   int // of all clients
	client  int // of one address, behind which there may be many users
	asking  int // without a complete request
	backend int // with a request to one backend: one that hangs leaves the other connections to others

	mutex   sync.Mutex
	open    map[*connection]struct{}
	clients map[netip.Prefix]int
}

type state int

const (
	asking  state = iota // the request is not complete, or a part of its body is kept until a pod takes it
	idle                 // between two requests
	waiting              // for the first byte of a response, or for a pod that takes a long body
	serving              // a pod responds or takes a long body, or it is a console
)

func newGate(total int) *gate {
	return &gate{
		total: total, client: total / 2, asking: total / 4, backend: total / 4,
		open: map[*connection]struct{}{}, clients: map[netip.Prefix]int{},
	}
}

type connection struct {
	net.Conn
	gate    *gate
	from    netip.Prefix
	backend string // that has its request; empty without one
	state   state
	since   time.Time
	gone    context.Context
	end     context.CancelFunc
}

type connectionKey struct{}

// listener lets in what the gate lets in.
type listener struct {
	net.Listener
	gate *gate
}

func (l listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if entered := l.gate.enter(conn); entered != nil {
			return entered, nil
		}
		_ = conn.Close()
	}
}

// enter returns nil if the new connection is the one that is closed.
func (g *gate) enter(conn net.Conn) *connection {
	c := &connection{Conn: conn, gate: g, from: client(conn), since: time.Now()}
	c.gone, c.end = context.WithCancel(context.Background())
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.open[c] = struct{}{}
	g.clients[c.from]++
	if g.clients[c.from] > g.client {
		g.drop(func(o *connection) bool { return o.state != serving && o.from == c.from })
	}
	if len(g.open) > g.total {
		g.drop(func(o *connection) bool { return o.state != serving })
	}
	g.bound()
	if _, found := g.open[c]; !found {
		return nil
	}
	return c
}

// set tells what a connection waits for.
func (c *connection) set(to state) {
	c.gate.mutex.Lock()
	defer c.gate.mutex.Unlock()
	c.become(to)
}

func (c *connection) become(to state) {
	if to == idle {
		c.backend = ""
	}
	if c.state != to {
		c.state, c.since = to, time.Now()
		c.gate.bound()
	}
}

// ask tells whether a connection's request may go to a backend. Of its requests an address has no more than there is
// room left for, so that a new address finds room.
func (c *connection) ask(backend string, to state) bool {
	c.gate.mutex.Lock()
	defer c.gate.mutex.Unlock()
	count := 0
	for o := range c.gate.open {
		if o.backend == backend {
			count++
			if o.from == c.from {
				count++
			}
		}
	}
	if count >= c.gate.backend {
		return false
	}
	c.backend = backend
	c.become(to)
	return true
}

func (g *gate) bound() {
	count := 0
	for c := range g.open {
		if c.state == asking {
			count++
		}
	}
	if count > g.asking {
		g.drop(func(c *connection) bool { return c.state == asking })
	}
}

// drop closes one of those that match, an idle one if there is any, for it loses no request: the oldest of the address that
// has most of them. If none is idle, one that waits for a pod is the last of its address.
func (g *gate) drop(match func(*connection) bool) {
	var closable, unused []*connection
	for c := range g.open {
		if match(c) {
			closable = append(closable, c)
			if c.state == idle {
				unused = append(unused, c)
			}
		}
	}
	if len(unused) > 0 {
		closable = unused
	}
	count := map[netip.Prefix]int{}
	for _, c := range closable {
		count[c.from]++
	}
	last := map[state]int{waiting: 1}
	chosen := slices.MinFunc(closable, func(a, b *connection) int {
		return cmp.Or(
			cmp.Compare(count[b.from], count[a.from]),
			cmp.Compare(last[a.state], last[b.state]),
			a.since.Compare(b.since),
		)
	})
	g.leave(chosen)
	_ = chosen.Conn.Close()
}

func (g *gate) leave(c *connection) {
	if _, found := g.open[c]; found {
		delete(g.open, c)
		if g.clients[c.from]--; g.clients[c.from] == 0 {
			delete(g.clients, c.from)
		}
		c.end()
	}
}

func (c *connection) Close() error {
	c.gate.mutex.Lock()
	c.gate.leave(c)
	c.gate.mutex.Unlock()
	return c.Conn.Close()
}

// client is an address; of IPv6 the network, for a client has all of it.
func client(conn net.Conn) netip.Prefix {
	where, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	address := where.Addr().Unmap().WithZone("")
	prefix, _ := address.Prefix(min(64, address.BitLen()))
	return prefix
}

// connectionOf what the server calls a connection.
func connectionOf(conn net.Conn) *connection {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	return conn.(*connection)
}

// watch has a server tell its gate of the connections: a request's context ends with its connection.
func watch(one *http.Server) {
	one.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		c := connectionOf(conn)
		ctx, cancel := context.WithCancel(context.WithValue(ctx, connectionKey{}, c))
		context.AfterFunc(c.gone, cancel)
		return ctx
	}
	one.ConnState = func(conn net.Conn, state http.ConnState) {
		c := connectionOf(conn)
		switch state {
		case http.StateActive:
			c.set(asking)
		case http.StateIdle:
			c.set(idle)
		}
	}
}
