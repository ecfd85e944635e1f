# Built by `make image`. The first stage builds with Debian's packages only; the second holds the binary and its libraries.
FROM debian:bookworm-slim AS build
WORKDIR /src
COPY hack/setup.sh hack/setup.sh
RUN hack/setup.sh build
COPY . .
RUN cmake --preset package && cmake --build build/package --target evacuator kubectl-evacuator \
 && strip build/package/cmd/evacuator build/package/cmd/kubectl-evacuator && hack/verify-hardening.sh

FROM debian:bookworm-slim
RUN apt-get update -q && apt-get install -q -y --no-install-recommends libcpprest2.10 libssl3 libsimdjson14 libspdlog1.10 \
      libfmt9 libyaml-0-2 libprometheus-cpp-core1.0 libdate-tz3 zlib1g tzdata ca-certificates \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/build/package/cmd/evacuator /src/build/package/cmd/kubectl-evacuator /usr/local/bin/
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/evacuator"]
CMD ["run"]
