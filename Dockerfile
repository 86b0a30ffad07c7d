# An image with the program, a CPU build of torch and no compiler, for a user without rights:
#
#   make wheels && docker build -t selfplay .
#   docker run --rm -v "$PWD:/home/selfplay/work" selfplay train --preset laptop
#
# Not run yet: docker build, since there was no daemon. Its steps ran one by one in an empty Debian of this version
# (debootstrap, chroot; wheels from a folder in place of the index): then selfplay doctor, train and play as that user.
FROM debian:bookworm-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home selfplay

COPY constraints.txt dist /tmp/selfplay/
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN python3 -m venv /opt/selfplay \
    && /opt/selfplay/bin/pip install --no-cache-dir --no-deps --index-url "$TORCH_INDEX" \
        "$(grep '^torch==' /tmp/selfplay/constraints.txt)" \
    && /opt/selfplay/bin/pip install --no-cache-dir --constraint /tmp/selfplay/constraints.txt \
        --find-links /tmp/selfplay selfplay-arena

USER selfplay
RUN mkdir /home/selfplay/work
WORKDIR /home/selfplay/work
ENTRYPOINT ["/opt/selfplay/bin/selfplay"]
CMD ["--help"]
