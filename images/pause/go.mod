module stackwright.dev/images/pause

go 1.24
