// Prints what GitOps tools say about objects, by the libraries that they use themselves: kstatus, which `kubectl` plug-ins
// and Flux share; a health script of Argo CD; and the health expressions of a Flux Kustomization.
//
// It reads {"objects": […], "lua": "…", "expressions": {"current": "…", "inProgress": "…", "failed": "…"}} from the
// standard input and prints a list with {"kstatus": …, "argocd": …, "message": …, "flux": …} for each object.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type question struct {
	Objects     []unstructured.Unstructured      `json:"objects"`
	Lua         string                           `json:"lua"`
	Expressions kustomize.HealthCheckExpressions `json:"expressions"`
}

type answer struct {
	Kstatus string `json:"kstatus"`
	ArgoCD  string `json:"argocd"`
	Message string `json:"message"`
	Flux    string `json:"flux"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	flux, err := cel.NewStatusEvaluator(&asked.Expressions)
	if err != nil {
		return err
	}
	answers := make([]answer, 0, len(asked.Objects))
	for i := range asked.Objects {
		object := &asked.Objects[i]
		computed, err := status.Compute(object)
		if err != nil {
			return err
		}
		evaluated, err := flux.Evaluate(context.Background(), object)
		if err != nil {
			return err
		}
		health, message, err := argocd(asked.Lua, object.Object)
		if err != nil {
			return err
		}
		answers = append(answers, answer{computed.Status.String(), health, message, evaluated.Status.String()})
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

// argocd runs a health script with the libraries and the time that Argo CD grants it (util/lua/lua.go there).
func argocd(script string, object map[string]any) (string, string, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage,
		lua.BaseLibName: lua.OpenBase,
		lua.TabLibName:  lua.OpenTable,
	} {
		call := lua.P{Fn: state.NewFunction(open), Protect: true}
		if err := state.CallByParam(call, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", value(state, object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("the script returned %s, not a table", state.Get(-1).Type())
	}
	return table.RawGetString("status").String(), lua.LVAsString(table.RawGetString("message")), nil
}

func value(state *lua.LState, given any) lua.LValue {
	switch found := given.(type) {
	case bool:
		return lua.LBool(found)
	case int64:
		return lua.LNumber(found)
	case float64:
		return lua.LNumber(found)
	case string:
		return lua.LString(found)
	case []any:
		table := state.CreateTable(len(found), 0)
		for _, each := range found {
			table.Append(value(state, each))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(found))
		for name, each := range found {
			table.RawSetString(name, value(state, each))
		}
		return table
	}
	return lua.LNil
}
