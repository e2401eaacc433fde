# For hands that type make: ./dev is the thing.
.PHONY: run check install build
run check install build:
	./dev $@
