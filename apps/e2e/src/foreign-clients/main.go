// Clients of other people, generated from our OpenAPI documents and schemas and built without a change.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 3 {
		fail(fmt.Errorf("usage: foreign-clients schemas FILE | gateway URL KEY | call FILE"))
	}
	switch command := os.Args[1]; command {
	case "schemas":
		fail(compileAll(os.Args[2]))
	case "gateway":
		fail(forwardTools(os.Args[2], os.Args[3]))
	case "call":
		fail(callSurfaces(os.Args[2]))
	default:
		fail(fmt.Errorf("no command %s", command))
	}
}

// fail ends the program if there is an error.
func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
