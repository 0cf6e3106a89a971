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

// gate limits the connections of all its listeners together, and thereby their memory. A connection carries one request at
// a time. Above the limit an idle connection is closed or, if none is idle, one of the client address with the most
// connections, which may be the new one. A connection whose response has begun is never closed.
type gate struct {
	total   int // of all clients
	client  int // of one address, behind which there may be many users
	asking  int // without a complete request
	backend int // with a request to one backend, so that a hanging backend cannot use all connections

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

// listener accepts the connections that the gate admits.
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

// set changes the state of a connection.
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

// ask returns whether a connection may send its request to a backend. One client address may use at most as many requests
// as remain free, so that new client addresses get slots.
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

// drop closes one of the matching connections: the oldest of the client address with the most of them. Idle connections
// are preferred, because they lose no request; connections that wait for a pod are chosen last.
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

// client returns the address of a client; for IPv6 its /64 network, because a client can use all its addresses.
func client(conn net.Conn) netip.Prefix {
	where, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	address := where.Addr().Unmap().WithZone("")
	prefix, _ := address.Prefix(min(64, address.BitLen()))
	return prefix
}

// connectionOf returns the gate's connection below a connection of the server.
func connectionOf(conn net.Conn) *connection {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	return conn.(*connection)
}

// watch makes a server report the states of connections to their gate, and cancels a request when its connection is closed.
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
