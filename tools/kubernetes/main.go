// One Kubernetes binary. It runs the command of the name it is called under
// (kube-apiserver, kubelet, kubectl …), so that six programs that share almost
// all their code are linked once: 139 MB instead of 480 MB.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var commands = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 newKubelet,
	"kube-proxy":              proxy.NewProxyCommand,
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
}

// The constructor takes a context since Kubernetes 1.33; main.go is built with older versions, too.
func newKubelet() *cobra.Command {
	constructor := reflect.ValueOf(kubelet.NewKubeletCommand)
	arguments := []reflect.Value{reflect.ValueOf(context.Background())}
	return constructor.Call(arguments[:constructor.Type().NumIn()])[0].Interface().(*cobra.Command)
}

func main() {
	name := filepath.Base(os.Args[0])
	command, known := commands[name]
	if !known {
		names := make([]string, 0, len(commands))
		for n := range commands {
			names = append(names, n)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "called as %q; call it as one of %s\n", name, strings.Join(names, ", "))
		os.Exit(2)
	}
	if name == "kubectl" { // it prints its own errors, each kind in its own way
		if err := cli.RunNoErrOutput(command()); err != nil {
			util.CheckErr(err)
		}
		return
	}
	os.Exit(cli.Run(command()))
}
