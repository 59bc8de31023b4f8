# The base image is a build argument, so that the image can be built from a mirror, or from a root of
# one's own: any Debian with Python 3.11 (and its venv) or later, and git 2.38 or later to install.
ARG BASE=python:3.13.15-slim-trixie@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

# First stage: the wheel, then an environment that holds it and what it needs, each file by its hash.
FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY container ./container
RUN python3 -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes --only-binary :all: -r container/build.txt \
    && python3 -m venv /opt/gatekeeper \
    && /opt/gatekeeper/bin/pip install --require-hashes --only-binary :all: -r container/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
    && /opt/gatekeeper/bin/pip install --no-deps --no-index /dist/*.whl \
    && /opt/gatekeeper/bin/pip check \
    && /opt/gatekeeper/bin/pip uninstall --yes --quiet pip \
    && /opt/gatekeeper/bin/python -m compileall -q -j 0 /opt/gatekeeper/lib

# Second stage: git does the reading, OpenSSH verifies signatures.
FROM ${BASE}
# The versions are those of the base image's Debian release, security updates included.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git openssh-client \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/dpkg.log /var/log/apt
COPY --from=build /opt/gatekeeper /opt/gatekeeper
COPY LICENSE /usr/share/doc/gatekeeper/LICENSE
# Log lines appear when they are written, and text is UTF-8 whatever the runner's locale.
ENV PATH=/opt/gatekeeper/bin:$PATH PYTHONUNBUFFERED=1 PYTHONUTF8=1
# No USER: the runner's file commands and the workspace belong to another user, and root alone can write to them.
HEALTHCHECK NONE
ENTRYPOINT ["gatekeeper", "action"]
